#!/usr/bin/env python3
"""Verifies provable exports of an audit log, written from docs/proofs.md alone. "Rule n" is point n of "To verify an export".
    verify.py EVENTS PROOF --vkey VKEY_OR_FILE [--vkey ...] [--number N] [--pinned NOTEFILE]
    verify.py --event EVENTFILE --proof TLOGPROOF --vkey VKEY_OR_FILE [--vkey ...] [--pinned NOTEFILE]
Exit code 0: verified. 1: not, with the reason. 2: wrong usage. Needs the package `cryptography` for Ed25519."""
import argparse, base64, collections, contextlib, datetime, functools, hashlib, json, os, pathlib, re, sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
LOG, WITNESS, TOLERANCE = 1, 4, 60_000     # types of verifier keys; milliseconds, rule 7
NUMBER = r"(0|[1-9][0-9]{0,18})"           # decimal, no leading zeros
RECEIVED = re.compile(rb',"receivedTime":"((?:19[7-9]|[2-9]\d\d)\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z"\}\Z')   # from 1970 on
Key = collections.namedtuple("Key", "name type public id")
Checkpoint = collections.namedtuple("Checkpoint", "origin size root complete at text")
Subtree = collections.namedtuple("Subtree", "start width hash where")     # the leaves start to start + width - 1
# --- Small tools. Every failure is a ValueError; naming() puts in front of its reason where it happened. ---
def check(condition, reason):
    if not condition: raise ValueError(reason)
@contextlib.contextmanager
def naming(where):
    try: yield
    except (ValueError, RecursionError) as error: raise ValueError(f"{where}: {error}") from None
def H(data): return hashlib.sha256(data).digest()
def node(left, right): return H(b"\x01" + left + right)
def decode(text, length=None, url=False):  # base64, or base64url without padding: only the one canonical spelling
    check(type(text) is str, "no base64")
    data = base64.b64decode(text + "=" * (-len(text) % 4 if url else 0), b"-_" if url else None, validate=True)
    again = base64.urlsafe_b64encode(data).rstrip(b"=") if url else base64.b64encode(data)
    check(again.decode() == text and length in (None, len(data)), f"not the base64 of {length or 'any number of'} bytes")
    return data
def decimal(text):
    check(re.fullmatch(NUMBER, text), f"not a decimal number: {text!r}")
    return int(text)
def parse_object(text):
    check(text[:1] == "{", "not a JSON object")
    return json.loads(text)
def member(row, name, kind):               # exactly of this type: true is no integer, and neither is 1.0
    check(type(row.get(name)) is kind and (kind is not int or 0 <= row[name] < 1 << 63), f"no valid member {name!r}")
    return row[name]
# --- Keys, notes and checkpoints ---
def make_key(name, kind, public): return Key(name, kind, public, H(name.encode() + b"\n" + bytes([kind]) + public)[:4])
def parse_vkey(text):
    name, key_id, data = (text.split("+", 2) + ["", ""])[:3]
    key = make_key(name, decode(data, 33)[0], decode(data)[1:])
    check(re.fullmatch(r"\S+", name) and key.type in (LOG, WITNESS) and key.id.hex() == key_id, "not a verifier key with its id")
    return key
def signature_is_right(key, message, signature):
    if key.type == WITNESS:
        message = b"cosignature/v1\ntime %d\n" % int.from_bytes(signature[:8], "big") + message
        signature = signature[8:]
    try: return Ed25519PublicKey.from_public_bytes(key.public).verify(signature, message) is None     # it raises, or returns None
    except InvalidSignature: return False
def service_origin(origin):                # of the service log with the same base and epoch; None if not of an organization
    found = re.fullmatch(r"(.+)/audit/org/[^/]+/-tlog((?:/[1-9][0-9]*)?)", origin)
    return found and f"{found[1]}/audit/-tlog{found[2]}"
def trusted_keys(keys, origin):
    # If the key of another organization was given, that of the service log does not widen the trust to this organization.
    other = any(key.type == LOG and service_origin(key.name) and key.name != origin for key in keys)
    derived = [make_key(origin, LOG, key.public) for key in keys if key.type == LOG
               and (service_origin(key.name) == origin or service_origin(origin) == key.name and not other)]
    return {(key.name, key.id): key for key in keys + derived}
def open_checkpoint(note, keys):
    check(all(char == "\n" or char >= " " for char in note), "the note has a control character")
    text, separator, signatures = note.rpartition("\n\n")
    origin, size, root, cut = (text.split("\n") + [""] * 3)[:4]
    check(separator and origin and signatures.endswith("\n"), "not a signed checkpoint")
    text, trusted, signed = text + "\n", trusted_keys(keys, origin), False
    for line in signatures[:-1].split("\n"):
        check(found := re.fullmatch(r"— ([^\s+]+) (\S+)", line), "not a signature line")
        signature = decode(found[2])
        key = trusted.get((found[1], signature[:4]))
        check(key is None or signature_is_right(key, text.encode(), signature[4:]), f"wrong signature of {found[1]}")
        signed = signed or (key is not None and key.type == LOG and key.name == origin)
    check(signed, f"not signed by a trusted key with the name {origin!r}")
    cut = re.fullmatch(f"control-cut {NUMBER} {NUMBER} {NUMBER}", cut)
    return Checkpoint(origin, decimal(size), decode(root, 32), cut and int(cut[2]), cut and int(cut[3]), text)
def open_organization(note, keys, pinned=None):     # rule 1
    point = open_checkpoint(note, keys)
    check(service_origin(point.origin), "the origin is not that of an organization")
    check(point.at is not None or point.size == 0, "no valid line control-cut")
    if pinned:
        check(pinned.origin == point.origin, "the pinned checkpoint has another origin")
        check(pinned.size <= point.size, f"only {point.size} leaves, the pinned checkpoint has {pinned.size}")
        check(pinned.size < point.size or pinned.root == point.root, "the pinned checkpoint has another root at this size")
    return point
# --- Leaves and trees ---
def leaf_of(text, salt):                   # the leaf hash of an event, and its receivedTime in milliseconds since 1970
    check(found := RECEIVED.search(text), "the event does not end with a receivedTime")
    time = (datetime.datetime.fromisoformat(found[1].decode()) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)
    return H(b"\x00\x01" + time.to_bytes(8, "big") + H(salt + text)), time
def check_time(time, leaf, point, pinned):          # rule 7; a tree without leaves may have no `complete`
    earliest = pinned.complete - TOLERANCE if pinned and pinned.complete is not None and leaf >= pinned.size else 0
    check(time >= earliest, "its receivedTime is before the pinned checkpoint, but its leaf is not")
    check(time <= point.at + TOLERANCE, "its receivedTime is after the checkpoint")
def check_inclusion(above, index, size, path, root, tree):
    check(index < size, f"leaf {index}: the tree of the {tree} has only {size}")
    at, last = index, size - 1
    for sibling in path:
        check(last > 0, f"leaf {index}: the inclusion path is too long")
        if at % 2 or at == last:
            above = node(sibling, above)
            while at % 2 == 0 and at > 0: at, last = at // 2, last // 2
        else: above = node(above, sibling)
        at, last = at // 2, last // 2
    check(last == 0 and above == root, f"leaf {index}: not in the tree of the {tree} with that root")
def closed_subtrees(row, where):           # the fewest complete subtrees of a run of closed leaves
    at, count, reasons = member(row, "from", int), member(row, "count", int), member(row, "reasons", dict)
    check(0 < count == sum(member(reasons, name, int) for name in reasons), "the reasons do not add up to the count")
    places, end = [], at + count
    while at < end:
        places.append((at, min(at & -at or end, 1 << (end - at).bit_length() - 1)))     # a power of two: divides `at`, and fits
        at += places[-1][1]
    check(len(member(row, "hashes", list)) == len(places), f"not {len(places)} hashes")
    return [Subtree(at, width, decode(hash, 32), where) for (at, width), hash in zip(places, row["hashes"])]
def check_roots(subtrees, point, pinned):  # rules 4, 5 and 6
    peaks, at = [], 0                      # the largest complete subtrees of the leaves before `at`, left to right: (width, hash)
    def check_prefix(expected, name):
        root = functools.reduce(lambda right, left: node(left, right), [hash for _, hash in reversed(peaks)]) if peaks else H(b"")
        check(root == expected.root, f"leaves before {at}: their root is not that of the {name}")
    for start, width, above, where in sorted(subtrees, key=lambda subtree: subtree.start):
        if pinned and at == pinned.size: check_prefix(pinned, "pinned checkpoint")
        check(start == at, f"leaf {at}: missing" if start > at else f"leaf {start}: occurs twice ({where})")
        at += width
        check(not pinned or not start < pinned.size < at, f"leaf {start}: {where} is not divided at the pinned size")
        while peaks and peaks[-1][0] == width: width, above = width * 2, node(peaks.pop()[1], above)
        peaks.append((width, above))
    check(at == point.size, f"leaf {at}: missing" if at < point.size else f"leaf {at - 1}: not in a tree of {point.size}")
    check_prefix(point, "checkpoint")      # for a pinned checkpoint of this size, open_organization compared the roots
# --- Proofs ---
def parse_tlog_proof(text):
    head, _, note = text.partition("\n\n")
    check(found := re.fullmatch(r"c2sp\.org/tlog-proof@v1\nextra (.*)\nindex (.*)((?:\n.+)*)", head), "not a tlog-proof")
    path = [decode(line, 32) for line in found[3].split("\n")[1:]]
    return parse_object(decode(found[1]).decode()), decimal(found[2]), path, note
def check_head(text, point, keys):         # returns the number of the organization
    extra, index, path, note = parse_tlog_proof(text)
    check(member(extra, "checkpoint", str) == point.text, "it is for another checkpoint")
    log, entry, number = open_checkpoint(note, keys), member(extra, "entry", str), member(extra, "number", int)
    check(log.origin == service_origin(point.origin), "it is of another service log")
    check_inclusion(H(b"\x00" + entry.encode()), index, log.size, path, log.root, "service log")
    check(cut := re.fullmatch("control-cut/v1\n" + f"{NUMBER}\n" * 3 + f"(.+)\n.+\n.+\n{NUMBER}\n", entry), "no entry of a cut")
    check(int(cut[1]) == index + 1, f"leaf {index} of the service log is cut {cut[1]}")
    path = [decode(sibling, 32) for sibling in member(extra, "directory", list)]
    check_inclusion(H(b"\x00" + point.text.encode()), number, int(cut[3]), path, decode(cut[4], 32), "directory")
    return number
def verify_export(events, proof, keys, number, pinned):
    events = events.removesuffix(b"\n").split(b"\n") if events else []
    if events and events[-1].startswith(b'{"kind":"exportend"'): events.pop()
    rows, subtrees = [], []
    for line, text in enumerate(proof.decode().removesuffix("\n").split("\n"), 1):
        with naming(f"proof line {line}"): rows.append(parse_object(text))
    kinds = [row.get("kind", "leaf") for row in rows]         # rule 2: leaves, closed runs, checkpoint, exportend
    leaves = kinds.count("leaf")
    check(leaves == len(events), f"line {min(leaves, len(events)) + 1}: {len(events)} event lines, but {leaves} leaf lines")
    rest = ["closed"] * (len(rows) - leaves - 2) + ["checkpoint", "exportend"]
    check(kinds[leaves:] == rest, f"proof lines from {leaves + 1}: not closed runs, one checkpoint and exportend")
    end, last = rows[-2:]
    check(member(last, "count", int) == leaves, f"proof line {len(rows)}: the count is not that of the event lines")
    with naming(f"proof line {len(rows) - 1}: checkpoint"): point = open_organization(member(end, "note", str), keys, pinned)
    for line, (text, row) in enumerate(zip(events, rows), 1):
        with naming(f"line {line}, leaf {row.get('leaf')!r}"):                      # rules 3 and 7
            above, time = leaf_of(text, decode(row.get("salt"), 16, url=True))
            check(decode(row.get("h"), 8, url=True) == above[:8], "the line is not what was committed to")
            subtrees.append(Subtree(member(row, "leaf", int), 1, above, f"line {line}"))
            check(row["leaf"] < point.size, f"not in a tree of {point.size}")
            check_time(time, row["leaf"], point, pinned)
    for line, row in enumerate(rows[leaves:-2], leaves + 1):
        with naming(f"proof line {line}"): subtrees += closed_subtrees(row, f"proof line {line}")
    check_roots(subtrees, point, pinned)
    with naming("head proof"):                                                      # rule 8
        proven = check_head(member(end, "head", str), point, keys) if "head" in end else None
        check(number in (None, proven), "missing" if proven is None else f"the number is {proven}, not {number}")
        check(proven is None or end.get("number", proven) == proven, "the line checkpoint has another number")
    return len(events), point.size - len(events), point.size
def verify_event(event, proof, keys, pinned):
    extra, index, path, note = parse_tlog_proof(proof.decode())
    point = open_organization(note, keys, pinned)
    above, time = leaf_of(event.removesuffix(b"\n"), decode(extra.get("salt"), 16, url=True))
    check_inclusion(above, index, point.size, path, point.root, "organization")
    with naming(f"leaf {index}"): check_time(time, index, point, pinned)
    return 1, 0, point.size                # of the other leaves nothing is known
def main():
    parser = argparse.ArgumentParser(allow_abbrev=False, usage=__doc__)
    parser.add_argument("files", nargs="*")
    for name in ("--event", "--proof", "--pinned"): parser.add_argument(name)
    parser.add_argument("--vkey", action="append", required=True)
    parser.add_argument("--number", type=decimal)
    options = parser.parse_intermixed_args()
    one = [path for path in (options.event, options.proof) if path is not None]
    if sorted((len(one), len(options.files))) != [0, 2] or one and options.number is not None: parser.error("wrong arguments")
    try:
        texts = [pathlib.Path(text).read_text() if os.path.isfile(text) else text for text in options.vkey]
        keys = [parse_vkey(line) for line in "\n".join(texts).split() or [""]]
        first, second, *note = [pathlib.Path(path).read_bytes() for path in (one or options.files) + [options.pinned] if path]
    except (OSError, ValueError) as error: parser.error(f"a file or key is unusable: {error}")
    try:
        with naming("pinned checkpoint"): pinned = open_organization(note[0].decode(), keys) if note else None
        result = verify_event(first, second, keys, pinned) if one else verify_export(first, second, keys, options.number, pinned)
        print("verified: %d events, %d closed leaves, size %d" % result)
    except (ValueError, RecursionError) as error: sys.exit(print(f"not verified: {error}") or 1)
if __name__ == "__main__": main()
