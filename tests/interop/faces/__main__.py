"""Say how the idioms compare: `python -m tests.interop.faces [--adopt] [-v] [text ...]`.

Prints the idioms that are WRONG (with -v those that we refuse too), the commonest reasons, and the counts by theme.
With texts, only the idioms whose "theme: name" holds one of them are tried, and every outcome is printed.
"""

import collections
import contextlib
import sys

import pullback as pb
from tests.interop.faces.comparison import EQUAL, OURS, WRONG, judge
from tests.interop.faces.table import IDIOMS


def main(words: list[str]) -> None:
    texts = [word for word in words if not word.startswith("-")]
    told = {EQUAL, OURS, WRONG} if texts else {OURS, WRONG} if "-v" in words else {WRONG}
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    reasons: collections.Counter[str] = collections.Counter()
    with pb.adopt() if "--adopt" in words else contextlib.nullcontext():
        for idiom in IDIOMS:
            if texts and not any(text in str(idiom) for text in texts):
                continue
            outcome = judge(idiom)
            counts[idiom.theme][outcome.verdict] += 1
            if outcome.verdict in told:
                print(outcome.verdict, idiom)
                for note in outcome.notes:
                    print("     ", " ".join(note.split())[:400])
            reasons.update(" ".join(note.partition(": ")[2].split())[:90] for note in outcome.notes)
    for reason, count in reasons.most_common(12):
        print(f"{count:6} x {reason}")
    total = sum(counts.values(), collections.Counter())
    for theme, count in [*counts.items(), ("all", total)]:
        print(f"{theme:12}", *(f"{count[verdict]:6} {verdict}" for verdict in (EQUAL, OURS, WRONG)))


main(sys.argv[1:])
