"""Robertson's chemical reactions, the stiff problem by which solvers are tried: three rates, from 0.04 to 3e7."""

import numpy as np
from scipy.integrate import solve_ivp

RATES = np.array([0.04, 1e4, 3e7])
TIMES = 0.4 * 10.0 ** np.arange(9)


def reactions(t, y, k):
    slow, back, fast = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
    return [back - slow, slow - back - fast, fast]


def concentrations(k, method="LSODA"):
    """Of the three substances, at each of the times."""
    found = solve_ivp(
        reactions,
        (0.0, TIMES[-1]),
        [1.0, 0.0, 0.0],
        method=method,
        t_eval=TIMES,
        args=(k,),
        rtol=1e-7,
        atol=[1e-10, 1e-14, 1e-10],
    )
    return found.y


def half_time(k):
    """When half of the first substance is gone."""

    def half(t, y):
        return y[0] - 0.5

    half.terminal = True
    found = solve_ivp(
        lambda t, y: reactions(t, y, k),
        (0.0, 1e6),
        [1.0, 0.0, 0.0],
        method="Radau",
        events=half,
        rtol=1e-7,
        atol=[1e-10, 1e-14, 1e-10],
    )
    return found.t_events[0][0]


def main():
    for t, y in zip(TIMES, concentrations(RATES).T):
        print(f"{t:9.1e}  " + "  ".join(f"{c:.4e}" for c in y))
    print(f"half of it is gone at {half_time(RATES):.3f}")


if __name__ == "__main__":
    main()
