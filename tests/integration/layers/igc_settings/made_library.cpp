// A library that keeps settings as a version of IGC does: -DLAYOUT=1 (before 1.0.6410) to 5 (from 2.38).
#include <vector>

#if LAYOUT <= 2
typedef char text[256];
#else
typedef char text[1024];
#endif

#define TENS(S) S(0) S(1) S(2) S(3) S(4) S(5) S(6) S(7) S(8) S(9)
#define HUNDREDS(S, D) S(D##0) S(D##1) S(D##2) S(D##3) S(D##4) S(D##5) S(D##6) S(D##7) S(D##8) S(D##9)
#define MANY(S)                                                                                                        \
    TENS(S) HUNDREDS(S, 1) HUNDREDS(S, 2) HUNDREDS(S, 3) HUNDREDS(S, 4) HUNDREDS(S, 5) HUNDREDS(S, 6) HUNDREDS(S, 7)   \
    HUNDREDS(S, 8) HUNDREDS(S, 9) HUNDREDS(S, 10) HUNDREDS(S, 11) HUNDREDS(S, 12) HUNDREDS(S, 13) HUNDREDS(S, 14)      \
    HUNDREDS(S, 15) HUNDREDS(S, 16) HUNDREDS(S, 17) HUNDREDS(S, 18) HUNDREDS(S, 19) HUNDREDS(S, 20)
#define NUMBERED(N) SETTING(Number##N)
#define ALL                                                                                                            \
    SETTING(ShaderDumpEnable) MANY(NUMBERED) SETTING(DumpToCustomDir) SETTING(DumpLLVMIR) SETTING(ShaderDumpFilter)

#if LAYOUT < 5
struct setting {
    union {
        unsigned number;
        text value;
    };
    std::vector<int> first;
#if LAYOUT == 4
    std::vector<int> second;
#endif
#if LAYOUT > 1
    bool changed, set;
#endif
    virtual const char *name() const = 0;
    virtual ~setting() {}
};
#define SETTING(NAME)                                                                                                  \
    struct setting_##NAME : setting {                                                                                  \
        setting_##NAME() { number = 7; }                                                                               \
        const char *name() const { return #NAME; }                                                                     \
    } NAME;
struct settings {
    ALL
} made_settings;
#else
struct setting {
    union {
        unsigned number;
        text value;
    };
    std::vector<int> first, second;
    bool changed, set;
    const char *name;
    unsigned standard;
};
#define SETTING(NAME) {{7}, {}, {}, false, false, #NAME, 7},
setting made_settings[] = {ALL};

// Takes the settings' names away, so that nothing knows them for what they are, and puts them back.
extern "C" void made_hide(bool hidden)
{
    static const char *names[sizeof made_settings / sizeof *made_settings];
    unsigned place = 0;
    for (setting &one : made_settings) {
        if (hidden)
            names[place] = one.name;
        one.name = hidden ? nullptr : names[place];
        ++place;
    }
}
#endif

// The caller's view, to check what the layer changed.
extern "C" const char *made_value(const char *wanted, unsigned *size)
{
    setting *all = reinterpret_cast<setting *>(&made_settings);
    static const unsigned stride = sizeof(setting);
    for (unsigned place = 0; place < sizeof made_settings; place += stride) {
        setting *one = reinterpret_cast<setting *>(reinterpret_cast<char *>(all) + place);
#if LAYOUT < 5
        const char *name = one->name();
#else
        const char *name = one->name;
#endif
        if (__builtin_strcmp(name, wanted) == 0) {
            *size = sizeof(text);
            return one->value;
        }
    }
    return nullptr;
}
