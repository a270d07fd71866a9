"""What a hostile client can send, and that a well-behaved one doesn't notice.

hostile.py PORT PROJECT [--database PORT] [--pid PID] [--scale N] [--seed N] [--only NAME,…]

PORT is the firestore port; with --database, that port is attacked instead. PID is the host's process. Beside each attack, a
client commits and reads ten times a second; after it the process must run, be idle, have as many descriptors as before, and be
within the bounds of memory in hostile_wire.Host.
"""
import argparse
import random
import sys
import time

from hostile_database import Database
from hostile_grpc import GRPC
from hostile_http1 import HTTP1
from hostile_http2 import HTTP2
from hostile_wire import Host

arguments = argparse.ArgumentParser()
arguments.add_argument("port", type=int)
arguments.add_argument("project")
arguments.add_argument("--database", type=int)
arguments.add_argument("--pid", type=int)
arguments.add_argument("--scale", type=int, default=1)
arguments.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
arguments.add_argument("--only")
arguments = arguments.parse_args()
print(f"the seed is {arguments.seed}", flush=True)
host = Host(arguments.port, arguments.project, arguments.pid)
if arguments.database:
    kinds = [Database(host, arguments.database, arguments.scale, random.Random(arguments.seed))]
    host.others = [kinds[0].beat]
else:
    kinds = [kind(host, arguments.scale, random.Random(arguments.seed)) for kind in (HTTP2, GRPC, HTTP1)]
attacks = [attack for kind in kinds for attack in kind.attacks]
only = arguments.only.split(",") if arguments.only else None
for attack in attacks:
    if only and attack.__name__ not in only:
        continue
    host.attack, host.slowest, before = attack.__name__.replace("_", " "), 0, host.memory()
    began = time.monotonic()
    try:
        attack()
    except OSError as error:
        host.fail(f"{host.attack}: {type(error).__name__} {error}")
    took = time.monotonic() - began
    if not host.recovers():
        break
    print(f"{host.attack}: {took:.1f} s, then {time.monotonic() - began - took:.1f} s; {(host.memory() - before) / (1 << 20):+.0f} MiB, "
          f"{host.count_descriptors()} descriptors; the slowest beat took {host.slowest:.2f} s", flush=True)
host.stopped.set()
if arguments.pid:
    # Sessions that were left end after a minute or two.
    end = time.monotonic() + 150
    while host.memory() - host.start > host.MAX_LEFT and time.monotonic() < end:
        time.sleep(1)
    left = host.memory() - host.start
    print(f"memory: {host.start >> 20} MiB at first, {host.peak >> 20} MiB at most, {host.memory() >> 20} MiB at last")
    if left > host.MAX_LEFT:
        host.fail(f"{left >> 20} MiB of memory are left of the attacks")
print(f"{host.beats} beats; {host.failures} failures")
sys.exit(1 if host.failures else 0)
