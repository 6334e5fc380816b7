#!/usr/bin/env bash
# Makes a release of the commit that is checked out: checks, the files in dist/, their notes, and the tag.
#
#   bash scripts/release.sh VERSION [--tested]     --tested: all tests of docs/release.md were green on this commit
#
# It uploads and pushes nothing; its last lines say how.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

version=${1:?the version to release, such as 0.2.0}
cd "$ROOT"
refuse() { echo "release.sh: $1" >&2; exit 2; }
[ -z "$(git status --porcelain)" ] || refuse "commit what differs first: git status"
grep -q "^__version__ = \"$version\"$" src/kernlens/__init__.py || refuse "src/kernlens/__init__.py has another version"
grep -qE "^## $version - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || refuse "CHANGELOG.md has no dated section $version"
git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null && refuse "the tag v$version is there already"
if [ "${2:-}" != --tested ]; then
  KERNLENS_WHOLE=1 bash scripts/test.sh
  bash scripts/versions.sh --all
fi
rm -rf dist
bash scripts/build.sh dist
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
quietly "$(find_python)" -m venv "$tools"
quietly "$tools/bin/python" -m pip install twine
"$tools/bin/python" -m twine check --strict dist/*
quietly "$tools/bin/python" -m pip install dist/*.whl
[ "$("$tools/bin/kernlens" --version)" = "kernlens $version" ] || refuse "the wheel says that it is another version"
awk -v version="$version" '/^## /{on = ($2 == version); next} on' CHANGELOG.md >dist/NOTES.md
git tag --annotate "v$version" --file dist/NOTES.md
say "dist/ has the files and NOTES.md, and this commit the tag v$version; hand them on with
  git push origin v$version
  python -m twine upload dist/kernlens-*      (to a test index first)"
