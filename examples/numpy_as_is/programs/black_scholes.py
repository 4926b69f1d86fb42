"""The price of a European call option. Its slopes are what traders call the Greeks."""

import math

from scipy.stats import norm


def call_price(spot, strike, years, rate, volatility):
    d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * math.sqrt(years))
    d2 = d1 - volatility * math.sqrt(years)
    return spot * norm.cdf(d1) - strike * math.exp(-rate * years) * norm.cdf(d2)


def main():
    for strike in (90.0, 100.0, 110.0):
        print(f"strike {strike:.0f}: {call_price(100.0, strike, 0.5, 0.02, 0.25):.4f}")


if __name__ == "__main__":
    main()
