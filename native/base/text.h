/* Texts made from others. */
#ifndef KERNLENS_TEXT_H
#define KERNLENS_TEXT_H

#include <stdarg.h>
#include <stdbool.h>

/* printf into memory of its own; NULL if there is none. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_format_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

bool text_starts_with(const char *text, const char *start);
bool text_ends_with(const char *text, const char *end);

#endif
