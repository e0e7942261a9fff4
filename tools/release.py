"""Everything that a release needs but the upload: checks, archive and wheels, what they hold, their checksums.

``python tools/release.py`` stops at the first thing that is not in order, and says which. ``--skip-ci`` leaves out
`.ci/run`, where that ran on the same commit. What is built lies in ``dist``; twice in environments of their own, and
refused unless both are the same to the last byte. The environment variable CALIBRANT_URL has the address of the
repository, from which the packages' links are made.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TOOLS = ("build", "twine", "cyclonedx-bom")
EXTRAS = ("", "sklearn", "report", "files", "cli")


def main() -> None:
    """Run the checklist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skip-ci", action="store_true", help="leave out .ci/run")
    skip_ci = parser.parse_args().skip_ci
    if not re.fullmatch(r"https://[^/]+/[^/]+/[^/]+/?", os.environ.get("CALIBRANT_URL", "")):
        raise SystemExit("CALIBRANT_URL: the packages' links need the repository's address, https://HOST/OWNER/NAME")
    version = check_versions()
    check_commit()
    if not skip_ci:
        run(["bash", ".ci/run"])
    shutil.rmtree(DIST, ignore_errors=True)
    with TemporaryDirectory() as folder:
        python = environment(Path(folder, "tools"), *TOOLS)
        built = build(python, DIST)
        again = build(python, Path(folder, "again"))
        if built != again:
            differ = ", ".join(sorted(name for name in built if built[name] != again.get(name)))
            raise SystemExit(f"built twice, not the same: {differ}")
        run([python, "-m", "twine", "check", "--strict", *map(str, sorted(DIST.iterdir()))])
        write_parts(python, Path(folder, "clean"), version)
    write_recipe(version)
    names = sorted(path.name for path in DIST.iterdir())
    lines = [f"{digest(DIST / name)}  {name}" for name in names]
    (DIST / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    print(f"\n{version} is ready in {DIST.name}:", *names, "SHA256SUMS", sep="\n  ")
    print(f"Left to do: git tag v{version}, and the upload.")


def check_versions() -> str:
    """Return the version that every file agrees on; the changelog has to begin with it."""
    version = str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])
    says = {
        "src/calibrant/__init__.py": r'__version__ = "(.*)"',
        "papers/pyproject.toml": r'^version = "(.*)"',
        "CITATION.cff": r"^version: (.*)$",
        "recipe/meta.yaml": r'set version = "(.*)"',
        "CHANGELOG.md": r"^## (\S+)",
    }
    for name, pattern in says.items():
        match = re.search(pattern, (ROOT / name).read_text(), re.M)
        if match is None or match[1] != version:
            raise SystemExit(f"{name} says version {match and match[1]}; pyproject.toml says {version}")
    return version


def check_commit() -> None:
    """Refuse what is not committed: it would be in the archive."""
    if changed := run(["git", "status", "--porcelain"], quiet=True):
        raise SystemExit(f"not committed:\n{changed}")


def environment(folder: Path, *requirements: str) -> str:
    """Return the interpreter of a new environment with these."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
    return python


def build(python: str, folder: Path) -> dict[str, str]:
    """Build the archive and from it the wheel for every machine, dated as the commit; digests by name."""
    date = run(["git", "log", "-1", "--format=%ct"], quiet=True).strip()
    run([python, "-m", "build", "--outdir", str(folder), "."], SOURCE_DATE_EPOCH=date)
    return {path.name: digest(path) for path in folder.iterdir()}


def write_parts(python: str, folder: Path, version: str) -> None:
    """Write what an installation brings along (CycloneDX), of an environment that has the wheel alone; try it."""
    (wheel,) = DIST.glob("*.whl")
    for extra in EXTRAS:  # each by itself: what it promises works, and what is missing is named
        alone = environment(folder / (extra or "core"), f"{wheel}[{extra}]" if extra else str(wheel))
        run([alone, str(ROOT / "tools" / "try_extras.py"), extra], quiet=True)
    clean = environment(folder / "all", f"{wheel}[all]")
    parts = DIST / f"sbom-{version}.cdx.json"
    run([python, "-m", "cyclonedx_py", "environment", clean, "--output-file", str(parts)])
    parts.write_text(parts.read_text().replace(f"{DIST.as_uri()}/", ""))  # where the wheel lay is nobody's part
    run([clean, "-m", "calibrant", "demo", "--folder", str(folder)], quiet=True)


def write_recipe(version: str) -> None:
    """Write conda's recipe of this release: its archive beside the repository's releases, home and account."""
    home, archive = os.environ["CALIBRANT_URL"].rstrip("/"), DIST / f"calibrant-{version}.tar.gz"
    source = f"url: {home}/releases/download/v{version}/{archive.name}\n  sha256: {digest(archive)}"
    recipe = re.sub(r"path: \.\..*", source, (ROOT / "recipe" / "meta.yaml").read_text())
    recipe = re.sub(r"CALIBRANT_URL.*", home, recipe).replace("CALIBRANT_OWNER", home.split("/")[3])
    (DIST / "meta.yaml").write_text(recipe)


def digest(path: Path) -> str:
    """A file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(command: list[str], *, quiet: bool = False, **variables: str) -> str:
    """Run a command of the checklist from the root; end with it where it fails."""
    print("+", *command, file=sys.stderr)
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE if quiet else None
    )
    if done.returncode:
        raise SystemExit(f"failed with {done.returncode}: {' '.join(command)}")
    return done.stdout or ""


if __name__ == "__main__":
    main()
