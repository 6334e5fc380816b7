"""Packs the extension for VS Code, built by ``scripts/vscode.sh``, into a file that VS Code installs.

A ``.vsix`` is a zip with the extension's files below ``extension/``, a manifest, and the types of its files (Open Packaging
Conventions). The manifest's form is that of Microsoft's ``vsce``, which would fetch some 200 packages to write these two.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "editors" / "vscode"
#: Files and their names in the package.
FILES = {
    FOLDER / "package.json": "package.json",
    FOLDER / "README.md": "README.md",
    FOLDER / "icon.png": "icon.png",
    FOLDER / "language-configuration.json": "language-configuration.json",
    FOLDER / "syntaxes" / "opencl.tmLanguage.json": "syntaxes/opencl.tmLanguage.json",
    FOLDER / "dist" / "extension.js": "dist/extension.js",
    FOLDER / "dist" / "bridge.js": "dist/bridge.js",
    ROOT / "LICENSE": "LICENSE.txt",
}
#: The oldest time that a zip can state: the same files give the same package.
TIME = (1980, 1, 1, 0, 0, 0)
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" \
ContentType="application/json"/><Default Extension=".vsixmanifest" ContentType="text/xml"/><Default Extension=".md" \
ContentType="text/markdown"/><Default Extension=".png" ContentType="image/png"/><Default Extension=".js" \
ContentType="application/javascript"/><Default Extension=".txt" ContentType="text/plain"/></Types>
"""


def manifest(package: dict[str, object]) -> str:
    """Return the manifest of the extension that ``package.json`` describes."""
    word = {key: quoteattr(str(package[key])) for key in ("name", "version", "publisher")}
    engine = quoteattr(str(package["engines"]["vscode"]))  # type: ignore[index]
    kinds = quoteattr(",".join(package["extensionKind"]))  # type: ignore[arg-type]
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id={word["name"]} Version={word["version"]} Publisher={word["publisher"]}/>
<DisplayName>{escape(str(package["displayName"]))}</DisplayName>
<Description xml:space="preserve">{escape(str(package["description"]))}</Description>
<Tags>{escape(",".join(package["keywords"]))}</Tags>
<Categories>{escape(",".join(package["categories"]))}</Categories>
<License>extension/LICENSE.txt</License>
<Icon>extension/icon.png</Icon>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value={kinds}/>
</Properties>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/icon.png" Addressable="true"/>
</Assets>
</PackageManifest>
"""  # type: ignore[arg-type]


def pack(target: Path) -> None:
    """Write the package."""
    package = json.loads((FOLDER / "package.json").read_text("utf-8"))
    parts = {"extension.vsixmanifest": manifest(package).encode(), "[Content_Types].xml": TYPES.encode()}
    parts |= {f"extension/{name}": path.read_bytes() for path, name in FILES.items()}
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as package_file:
        for name, content in parts.items():
            package_file.writestr(zipfile.ZipInfo(name, TIME), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
    print(sys.argv[1])
