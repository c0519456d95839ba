"""Tables and plot of a record of the micro-benchmark."""

from __future__ import annotations

import pathlib

from benchmarks.micro.density import KERNELS, QUANTITIES

GOAL_AUTO, GOAL_DENSE, GOAL_LIMIT = 1.05, 10.0, 1 / 3


def groups(record: dict) -> dict[tuple[str, int, int], list[dict]]:
    """Rows of the curves by (instruction set, lists, labels), in the order of the record."""
    found: dict[tuple[str, int, int], list[dict]] = {}
    for row in record["curves"]:
        found.setdefault((row["instruction set"], row["lists"], row["labels"]), []).append(row)
    return found


def verdict(met: bool) -> str:
    return "met" if met else "missed"


def by_fastest(row: dict) -> float:
    """auto / better from the fastest runs, that is, the ratio when the machine was undisturbed."""
    return row["auto"] / min(row["sparse"], row["dense"])


def missed_table(record: dict) -> list[str]:
    over = [r for r in record["curves"] if r["auto / better"] > GOAL_AUTO]
    if not over:
        return []
    lines = [
        f"## Points above {GOAL_AUTO}",
        "",
        "Near the crossing (dense / sparse near 1) the choice may be wrong. Far from it automatic runs the same "
        "code as the better kernel, and the ratio shows how well this machine could time it.",
        "",
        "| instruction set | lists | labels | quantity | density | by medians | by fastest | dense / sparse |",
        "|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for r in over:
        point = f"{r['instruction set']} | {r['lists']} | {r['labels']} | {r['quantity']} | {r['density']:g}"
        ratios = f"{r['auto / better']:.3f} | {by_fastest(r):.3f} | {r['dense / sparse']:.2f}"
        lines.append(f"| {point} | {ratios} |")
    return [*lines, ""]


def summary(record: dict) -> str:
    best = record["machine"]["instruction set"]
    rows = record["curves"]
    worst = max(rows, key=lambda r: r["auto / better"])
    over = [r for r in rows if r["auto / better"] > GOAL_AUTO]
    lines = [
        f"- automatic against the better of sparse and dense, {len(rows)} points: at most "
        f"{worst['auto / better']:.3f} x ({worst['quantity']}, {worst['labels']} labels, "
        f"{worst['lists']} lists, density {worst['density']:g}, {worst['instruction set']}); "
        f"{len(over)} points above {GOAL_AUTO}. "
        f"Goal {GOAL_AUTO} everywhere: {verdict(not over)}. By the fastest runs: at most "
        f"{max(map(by_fastest, rows)):.3f} x, {sum(by_fastest(r) > GOAL_AUTO for r in rows)} points above."
    ]
    lines += [
        f"- 500 labels, 1 %, {r['quantity']}: automatic is {r['dense / auto']:.1f} x as fast as dense. "
        f"Goal {GOAL_DENSE:g}: {verdict(r['dense / auto'] >= GOAL_DENSE)}."
        for r in rows
        if (r["labels"], r["density"], r["instruction set"]) == (500, 0.01, best)
    ]
    if "letters" in record:
        share = record["letters"]["share_of_limit"][best]
        lines.append(
            f"- {record['letters']['corpus']}, letters: loss + gradient in "
            f"{record['letters']['pass_ms'][best]:.1f} ms, "
            f"{100 * share:.0f} % of the machine's dense limit. Goal a third: {verdict(share >= GOAL_LIMIT)}."
        )
    return "\n".join(lines)


def letters_table(letters: dict) -> list[str]:
    lines = [
        f"{letters['corpus']}: {letters['tokens']:,} tokens, {letters['sequences']:,} words, "
        f"{letters['labels']} labels, {letters['features']:,} features, all with a weight; "
        f"{letters['multiply_adds'] / 1e9:.2f} G multiply-adds.",
        "",
        "| | ms | G multiply-adds / s | share of the limit |",
        "|---|---:|---:|---:|",
    ]
    for name, ms in letters["limit_ms"].items():
        rate = letters["multiply_adds"] / ms / 1e6
        lines.append(f"| dense limit, multiply and add {name} | {ms:.1f} | {rate:.1f} | |")
    for name, ms in letters["pass_ms"].items():
        rate = letters["multiply_adds"] / ms / 1e6
        share = 100 * letters["share_of_limit"][name]
        lines.append(f"| loss + gradient, {name} | {ms:.1f} | {rate:.1f} | {share:.0f} % |")
    return lines


def curve_table(rows: list[dict]) -> list[str]:
    lines = [
        "| density | entries | " + " | ".join(f"{k}, ms" for k in KERNELS) + " | auto / better | dense / sparse |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for r in rows:
        times = " | ".join(f"{r[k]:.3g}" for k in KERNELS)
        ratios = f"{r['auto / better']:.3f} | {r['dense / sparse']:.2f}"
        lines.append(f"| {r['density']:g} | {r['entries']} | {times} | {ratios} |")
    return lines


def markdown(record: dict) -> str:
    best = record["machine"]["instruction set"]
    lines = ["# Micro-benchmark", "", "Made by", "", f"    {record['command']}", ""]
    lines += [
        f"on {record['date']}; one thread, float64. {describe(record['machine'])}",
        "",
        summary(record),
        "",
    ]
    lines += [
        "Times are the fastest seen for one call, in processor time. Ratios are medians of the ratios within "
        "a round, in which the kernels take turns. Table and plot come from the same numbers.",
        "",
        "![time against density](micro.svg)",
        "",
    ]
    if "letters" in record:
        lines += ["## NETtalk's letters against the dense limit", "", *letters_table(record["letters"]), ""]
    lines += [
        "## The choice, by setting",
        "",
        "| instruction set | lists | labels | quantity | worst auto / better |",
    ]
    lines += ["|---|---:|---:|---|---:|"]
    for (name, lists, labels), rows in groups(record).items():
        for quantity in QUANTITIES:
            worst = max(r["auto / better"] for r in rows if r["quantity"] == quantity)
            lines.append(f"| {name} | {lists} | {labels} | {quantity} | {worst:.3f} |")
    lines += ["", *missed_table(record)]
    for (name, lists, labels), rows in groups(record).items():
        if name != best:
            continue
        for quantity in QUANTITIES:
            of = [r for r in rows if r["quantity"] == quantity]
            matrices = "one matrix" if lists == 1 else f"{lists} matrices"
            lines += [
                f"## {quantity}, {labels} labels, {matrices}, {of[0]['tokens']:,} tokens",
                "",
                *curve_table(of),
                "",
            ]
    return "\n".join(lines)


def describe(machine: dict[str, str]) -> str:
    return "Machine: " + ", ".join(f"{key} {value}" for key, value in machine.items()) + "."


def plot(record: dict, path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.family": "serif", "font.size": 9, "svg.hashsalt": "sparsecrf"})
    best = record["machine"]["instruction set"]
    one = {key[2]: rows for key, rows in groups(record).items() if key[:2] == (best, 1)}
    figure, axes = plt.subplots(2, len(one), figsize=(2.4 * len(one), 4.6), sharex=True, squeeze=False)
    styles = {
        "sparse": {"color": "#0072b2", "marker": "o", "markersize": 2.5, "linewidth": 0.9},
        "dense": {"color": "#d55e00", "marker": "s", "markersize": 2.5, "linewidth": 0.9},
        "auto": {"color": "black", "linewidth": 2.4, "alpha": 0.35, "zorder": 0},
    }
    for row, quantity in enumerate(QUANTITIES):
        for column, (labels, rows) in enumerate(one.items()):
            axis = axes[row][column]
            of = [r for r in rows if r["quantity"] == quantity]
            for kernel, style in styles.items():
                times = [1e3 * r[kernel] / r["tokens"] for r in of]
                name = "automatic" if kernel == "auto" else kernel
                axis.plot([r["density"] for r in of], times, label=name, **style)
            axis.set_xscale("symlog", linthresh=1e-4, linscale=0.4)
            axis.set_yscale("log")
            axis.set_xlim(-2e-5, 1.3)
            axis.set_xticks([0, 1e-3, 1e-2, 1e-1, 1])
            axis.minorticks_off()
            axis.grid(True, linewidth=0.3, alpha=0.6)
            axis.spines[["top", "right"]].set_visible(False)
            if row == 0:
                axis.set_title(f"$|Y| = {labels}$", fontsize=10)
            if column == 0:
                axis.set_ylabel(f"{quantity}\nmicroseconds per token")
    axes[0][0].legend(frameon=False, fontsize=8)
    figure.supxlabel("density of $\\lambda$ (share of label pairs with a weight)", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
