"""Fuzzes every target for a while, each from its committed seeds; a finding ends the run with its input.

Findings are kept under .test/fuzz/TARGET/; put a small one into Tests/Fuzz/Seeds/TARGET once it is fixed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = PROJECT / "Tests" / "Fuzz" / "Seeds"
FLAGS = ["-c", "release", "--product", "fuzz", "--scratch-path", ".build/fuzz", "-Xswiftc", "-enable-testing",
         "-Xswiftc", "-sanitize=fuzzer", "-Xswiftc", "-use-ld=lld"]


def build():
    swift = os.environ.get("SWIFT", "swift")
    environment = dict(os.environ, SHARESERVE_FUZZ="1")
    if subprocess.run([swift, "build", *FLAGS], cwd=PROJECT, env=environment).returncode:
        sys.exit("shareserve: the fuzzer could not be built; see the lines above")
    shown = subprocess.run([swift, "build", *FLAGS, "--show-bin-path"], cwd=PROJECT, env=environment, capture_output=True, text=True)
    return pathlib.Path(shown.stdout.strip()) / "fuzz"


def fuzz(program, target, seconds, jobs):
    place = PROJECT / ".test" / "fuzz" / target
    corpus = place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = SEEDS / target
    command = [str(program), target, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1",
               f"-artifact_prefix={place}/", "-max_len=20000", f"-fork={jobs}" if jobs > 1 else "-verbosity=0", str(corpus)]
    if seeds.is_dir():
        command.append(str(seeds))
    # Swift's own handler of signals would leave libFuzzer without the input that led to one.
    environment = dict(os.environ, SWIFT_BACKTRACE="enable=no")
    ended = subprocess.run(command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    found = re.search(r"number_of_executed_units: (\d+)", ended.stdout)
    executed = int(found.group(1)) if found else 0
    print(f"{target:12} {executed:>12,} inputs  {'no finding' if ended.returncode == 0 else 'FINDING'}", flush=True)
    if ended.returncode:
        print(ended.stdout[-4000:])
    return ended.returncode == 0


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--jobs", type=int, default=1)
    options = arguments.parse_args()
    program = build()
    targets = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()
    wanted = [name for name in options.only.split(",") if name] or targets
    for name in wanted:
        if name not in targets:
            sys.exit(f"shareserve: there is no fuzz target '{name}'; there are {', '.join(targets)}")
    clean = [fuzz(program, name, options.seconds, options.jobs) for name in wanted]
    sys.exit(0 if all(clean) else 1)


if __name__ == "__main__":
    main()
