"""Makes an npm package and a Homebrew formula of the archives in a folder: wrap.py TAG OWNER/REPOSITORY FOLDER.

Both install the archive of their platform from the release of that tag, and only if its checksum is the one that was
made when it was built.
"""

import json
import pathlib
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).parent

FORMULA = """\
class Hookwright < Formula
  desc "Terminal coding agent with hooks you can trust, and the toolbox for writing them"
  homepage "https://github.com/{repository}"
  version "{version}"
  license "Apache-2.0"

{platforms}
  def install
    bin.install "hookwright"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/hookwright --version")
  end
end
"""

PLATFORM = """\
  on_{system} do
    on_{processor} do
      url "{url}"
      sha256 "{sha256}"
    end
  end
"""

# Homebrew's names of what is built for.
BREW = {
    "aarch64-apple-darwin": ("macos", "arm"),
    "x86_64-apple-darwin": ("macos", "intel"),
    "aarch64-unknown-linux-gnu": ("linux", "arm"),
    "x86_64-unknown-linux-gnu": ("linux", "intel"),
}


def archives(folder):
    """Each target with its archive's name and checksum."""
    for checksum in sorted(folder.glob("hookwright-*.sha256")):
        sha256, name = checksum.read_text().split()
        name = name.lstrip("*")
        target = name.removeprefix("hookwright-").removesuffix(".zip").removesuffix(".tar.gz")
        yield target, name, sha256


def formula(version, repository, base, found):
    platforms = [
        PLATFORM.format(system=BREW[target][0], processor=BREW[target][1], url=f"{base}/{name}", sha256=sha256)
        for target, name, sha256 in found
        if target in BREW
    ]
    return FORMULA.format(version=version, repository=repository, platforms="".join(platforms))


def npm_package(version, repository, base, found, place):
    package = json.loads((HERE / "npm/package.json").read_text())
    package["version"] = version
    package["repository"] = f"github:{repository}"
    releases = {"base": base, "archives": {target: {"name": name, "sha256": sha256} for target, name, sha256 in found}}
    with tempfile.TemporaryDirectory() as folder, tarfile.open(place, "w:gz") as tar:
        files = {"package.json": package, "releases.json": releases}
        for name, content in files.items():
            file = pathlib.Path(folder, name)
            file.write_text(json.dumps(content, indent=2) + "\n")
            tar.add(file, f"package/{name}")
        for name in ["install.js", "hookwright.js"]:
            tar.add(HERE / "npm" / name, f"package/{name}")
        tar.add(HERE.parent / "README.md", "package/README.md")
        tar.add(HERE.parent / "LICENSE", "package/LICENSE")


def main():
    tag, repository, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    base = sys.argv[4] if len(sys.argv) > 4 else f"https://github.com/{repository}/releases/download/{tag}"
    version, found = tag.removeprefix("v"), list(archives(folder))
    if not found:
        sys.exit(f"no archives in {folder}")
    (folder / "hookwright.rb").write_text(formula(version, repository, base, found))
    npm_package(version, repository, base, found, folder / "hookwright-npm-package.tar.gz")


main()
