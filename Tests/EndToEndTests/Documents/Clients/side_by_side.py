"""Asks our host and the official emulator the same over gRPC, at random and invalidly, and fails where they differ.

side_by_side.py OURS EMULATOR [--seed N] [--rounds N] [--only requests,invalid,listen,targets,write] [--words]

OURS and EMULATOR are ports. The data of both is deleted first. Times, tokens and ids are not compared, nor the words of
errors, which --words prints. Differences that are known say why in the tables of side_requests.py, side_invalid.py and
side_streams.py.
"""
import argparse
import random
import sys
import time
import urllib.request

from side_invalid import InvalidRequests, queries
from side_pair import ROOT, Pair
from side_requests import RandomRequests
from side_streams import InvalidTargets, RandomStreams, WriteStreams

arguments = argparse.ArgumentParser()
arguments.add_argument("ours", type=int)
arguments.add_argument("emulator", type=int)
arguments.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
arguments.add_argument("--rounds", type=int, default=4)
arguments.add_argument("--only", default="requests,invalid,listen,targets,write")
arguments.add_argument("--words", action="store_true")
arguments = arguments.parse_args()
print(f"the seed is {arguments.seed}", flush=True)
only = arguments.only.split(",")

for port in (arguments.ours, arguments.emulator):
    urllib.request.urlopen(urllib.request.Request(
        f"http://127.0.0.1:{port}/emulator/v1/projects/demo-shop/databases/(default)/documents", method="DELETE",
        headers={"Authorization": "Bearer owner"}), timeout=60).read()
pair = Pair(arguments.ours, arguments.emulator, arguments.words)
if "invalid" in only:
    InvalidRequests(pair).round()
if "targets" in only:
    requests = [(name, {"query": {"parent": ROOT, "structured_query": query}}) for name, query in queries()]
    requests += [("no documents", {"documents": {}}), ("no query", {"query": {"parent": ROOT}}), ("nothing", {}),
                 ("a broken name", {"documents": {"documents": ["x"]}}), ("a collection", {"documents": {"documents": [ROOT + "/i"]}})]
    InvalidTargets(pair, "i").round(requests)
checked = 0
for round in range(arguments.rounds):
    seed = arguments.seed + round
    before = len(pair.failures)
    collection = f"r{seed}"
    requests = RandomRequests(pair, random.Random(seed), collection)
    if "requests" in only:
        requests.round()
    if "write" in only:
        streams = WriteStreams(pair, random.Random(seed), RandomRequests(pair, random.Random(seed), f"w{seed}"))
        for _ in range(4):
            streams.round()
    if "listen" in only:
        streams = RandomStreams(pair, random.Random(seed), f"s{seed}")
        streams.round(12)
        checked += streams.checked
    if len(pair.failures) > before:
        print(f"these failures are of --seed {seed} --rounds 1", flush=True)
pair.close()
for reason, count in sorted(pair.known.items()):
    print(f"{count} times: {reason}")
print(f"{pair.asked} requests, of them {dict(sorted(pair.statuses.items()))}; {checked} results of snapshots compared;"
      f" {len(pair.failures)} failures")
sys.exit(1 if pair.failures else 0)
