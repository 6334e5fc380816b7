"""Two Level Zero modules, one of which calls a function of the other: linked by the driver, with the reason if not.

python examples/level_zero_link.py --simulate dg2
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from setting import isolated_arguments, spirv_of

from kernlens.level_zero import IsolatedDriver

EXPORTER = "int helper(int x) { return x * 3 + 1; }\n"
IMPORTER = "int helper(int x);\nkernel void use(global int *out) { out[0] = helper(out[0]); }\n"

chosen, environment = isolated_arguments(__doc__)
with TemporaryDirectory() as folder, IsolatedDriver(environment) as driver:
    exporter, importer = spirv_of(EXPORTER, Path(folder)), spirv_of(IMPORTER, Path(folder))
    for flags in ("", "-library-compilation"):
        driver.build_spirv("exporter", exporter, flags)
        driver.build_spirv("importer", importer)
        link = driver.dynamic_link(["importer", "exporter"])
        print(f"exporter built with {flags or 'no flags'}: {link.result_name}")
        for found in link.resolutions:
            print(f"    {found.symbol} of {found.user} is provided by {found.provider}")
        for found in link.missing:
            print(f"    {found.symbol} of {found.user} is provided by nobody")
    print(f"helper is at {driver.function_pointer('exporter', 'helper'):#x} on the device")
