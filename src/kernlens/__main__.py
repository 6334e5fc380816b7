"""``python -m kernlens``, as the command (bin/kernlens)."""

from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal

if __name__ == "__main__":
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, SIG_DFL)
    from kernlens.cli.main import main

    main()
