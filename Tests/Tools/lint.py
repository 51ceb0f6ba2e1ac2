"""What the formatter does not check: which module may import what, and that scripts parse."""

import ast
import pathlib
import re
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]

# Arrows of the design: a module may import these modules, and no others of ours.
MODULES = {
    "CZlib": set(),
    "CLibXML2": set(),
    "CSyscalls": set(),
    "CChecksums": set(),
    "CCrypt": set(),
    "CBundledAssets": set(),
    "DirectoryRoot": {"CSyscalls"},
    "ServerCore": {"CChecksums", "CCrypt", "CSyscalls", "CZlib", "DirectoryRoot"},
    "WebUploader": {"CBundledAssets", "CChecksums", "DirectoryRoot", "ServerCore"},
    "WebDAV": {"CLibXML2", "DirectoryRoot", "ServerCore"},
    "shareserve": {"CSyscalls", "DirectoryRoot", "ServerCore", "WebDAV", "WebUploader"},
}
# The only folder of the sources that may import it.
ONLY_IN = {
    "CLibXML2": "WebDAV/XML",
    "CZlib": "ServerCore/Coding",
    "CBundledAssets": "WebUploader",
    "CCrypt": "ServerCore/Server/Access",
    "ArgumentParser": "shareserve",
    "Configuration": "shareserve",
}
IMPORT = re.compile(
    r"^\s*(?:@[\w()]+\s+)*(?:public|package|internal|private|fileprivate)?\s*import\s+"
    r"(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)",
    re.MULTILINE,
)


def swift_imports():
    """One line for every import that the design does not allow."""
    for file in sorted((PROJECT / "Sources").rglob("*.swift")):
        place = file.relative_to(PROJECT / "Sources")
        module = place.parts[0]
        for match in IMPORT.finditer(file.read_text()):
            imported = match.group(1)
            line = file.read_text()[: match.start(1)].count("\n") + 1
            where = f"{file.relative_to(PROJECT)}:{line}"
            # On macOS it is a part of the system, and FoundationEssentials is none.
            before = file.read_text()[: match.start()].rstrip()
            is_system = before.endswith("#if canImport(Darwin)") or re.search(
                r"#if canImport\(FoundationEssentials\)\n.*import FoundationEssentials\n#else$", before)
            if (imported == "Foundation" and not is_system) or imported.startswith("FoundationNetworking"):
                yield f"{where}: full Foundation costs 45 MB; use FoundationEssentials or Glibc"
            elif imported in MODULES and imported not in MODULES[module] | {module}:
                yield f"{where}: {module} must not import {imported}"
            elif imported.startswith("NIO") and not str(place).startswith("ServerCore/Connection/"):
                yield f"{where}: only ServerCore/Connection imports {imported}"
            elif imported in ONLY_IN and not str(place).startswith(ONLY_IN[imported] + "/"):
                yield f"{where}: only {ONLY_IN[imported]} imports {imported}"


def scripts():
    """One line for every script that does not parse."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True)
    for name in sorted(set(listed.stdout.splitlines())):
        file = PROJECT / name
        if not file.is_file():
            continue
        if file.suffix == ".py":
            try:
                ast.parse(file.read_bytes(), filename=name)
            except SyntaxError as error:
                yield f"{name}:{error.lineno}: {error.msg}"
        elif file.suffix == ".sh" or file.read_bytes()[:11] == b"#!/bin/bash":
            checked = subprocess.run(["bash", "-n", name], cwd=PROJECT, stderr=subprocess.PIPE, text=True)
            if checked.returncode:
                yield checked.stderr.strip()


def main():
    findings = [*swift_imports(), *scripts()]
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"lint: {len(findings)} findings" if findings else "lint: clean")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
