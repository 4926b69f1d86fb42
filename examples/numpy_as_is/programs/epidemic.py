"""An epidemic with a lockdown, day by day with lists: how large is its peak?"""

import numpy as np


def run(beta, sigma, gamma, lockdown, days=80):
    S, E, I, R = 0.99, 0.005, 0.005, 0.0
    infected = []
    for day in range(days):
        b = beta * lockdown if 20 <= day < 50 else beta
        new_exposed = b * S * I
        new_infected = sigma * E
        new_removed = gamma * I
        S -= new_exposed
        E += new_exposed - new_infected
        I += new_infected - new_removed
        R += new_removed
        infected.append(I)
    assert abs(S + E + I + R - 1) < 1e-9
    return np.array(infected)


def burden(parameters):
    infected = run(*parameters)
    over = infected[infected > 0.05] - 0.05
    return max(infected) + over.sum() + 0.2 * (1 - parameters[3]) ** 2


def main():
    infected = run(0.5, 0.2, 0.1, 0.4)
    print(f"peak {100 * infected.max():.1f} % on day {infected.argmax()}, burden {burden([0.5, 0.2, 0.1, 0.4]):.4f}")


if __name__ == "__main__":
    main()
