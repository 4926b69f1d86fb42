"""The findings of a checkup, as text and as HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

WRONG, LOOK, NOTE = "wrong", "look", "note"
_MARKS = {WRONG: "WRONG", LOOK: "look ", NOTE: "  ok "}
_COLOURS = {WRONG: "#c0392b", LOOK: "#b9770e", NOTE: "#1e8449"}


@dataclass(frozen=True)
class Finding:
    """One line of a report.

    Attributes
    ----------
    level : {"wrong", "look", "note"}
        "wrong": the derivative here is not to be relied upon. "look": it may be so, or is so nearby. "note": a fact.
    topic : {"calls", "smoothness", "derivatives", "cost"}
    text : str
    """

    level: str
    topic: str
    text: str


@dataclass
class Report:
    """The findings of `pullback.check`; it prints itself, as HTML in a notebook.

    Attributes
    ----------
    function : str
        Its name, and the shapes of its arguments.
    findings : list of Finding
    needs_adopt : bool
        Whether the function is differentiable only after `pullback.adopt()`.
    gradient_cost, gradient_memory : float or None
        Time and peak memory of value and gradient together, over those of the value.
    """

    function: str
    findings: list[Finding] = field(default_factory=list)
    needs_adopt: bool = False
    gradient_cost: float | None = None
    gradient_memory: float | None = None

    def add(self, level: str, topic: str, text: str) -> None:
        """Enter a finding, once.

        Parameters
        ----------
        level : {"wrong", "look", "note"}
        topic : {"calls", "smoothness", "derivatives", "cost"}
        text : str

        Returns
        -------
        None

        Examples
        --------
        >>> import pullback as pb
        >>> report = pb.check(lambda x: x * x, 2.0)
        >>> report.add("look", "calls", "not yet tried with empty arrays")
        >>> report.verdict
        'nothing wrong, 1 to look at'
        """
        finding = Finding(level, topic, text)
        if finding not in self.findings:
            self.findings.append(finding)

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.of(WRONG)

    def of(self, level: str) -> list[Finding]:
        """The findings of a level.

        Parameters
        ----------
        level : {"wrong", "look", "note"}

        Returns
        -------
        list of Finding
            With the attributes `level`, `topic` and `text`.

        Examples
        --------
        >>> import pullback as pb
        >>> pb.check(lambda x: x * x, 2.0).of("wrong")
        []
        """
        return [finding for finding in self.findings if finding.level == level]

    @property
    def verdict(self) -> str:
        """The report in one line."""
        wrong, look = len(self.of(WRONG)), len(self.of(LOOK))
        if wrong:
            return f"{wrong} wrong" + (f", {look} to look at" if look else "")
        return f"nothing wrong, {look} to look at" if look else "nothing wrong"

    def __str__(self) -> str:
        lines = [f"{self.function}: {self.verdict}"]
        for level in (WRONG, LOOK, NOTE):
            lines += [f"  {_MARKS[level]}  {x.topic}: {x.text}" for x in self.of(level)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="color:{_COLOURS[level]};font-weight:bold;text-align:left">{_MARKS[level].strip()}</td>'
            f'<td style="text-align:left">{x.topic}</td><td style="text-align:left">{html.escape(x.text)}</td></tr>'
            for level in (WRONG, LOOK, NOTE)
            for x in self.of(level)
        )
        head = f"<b>{html.escape(self.function)}</b>: {html.escape(self.verdict)}"
        return f"<div>{head}<table>{rows}</table></div>"
