"""The numbers that formulas and their helpers may name, each the double nearest to its definition.

The comment beside a number is the definition, which a test computes with 50 digits. The generator reads this file, and
so does the table in docs/declarations.md.
"""

e = 2.718281828459045  # exp(1)
pi = 3.141592653589793  # pi
tau = 6.283185307179586  # 2*pi
euler_gamma = 0.5772156649015329  # Euler's constant
log_2 = 0.6931471805599453  # log(2)
log_10 = 2.302585092994046  # log(10)
log_pi = 1.1447298858494002  # log(pi)
log_2pi = 1.8378770664093456  # log(2*pi)
one_over_log_2 = 1.4426950408889634  # 1/log(2)
one_over_log_10 = 0.4342944819032518  # 1/log(10)
one_over_pi = 0.3183098861837907  # 1/pi
two_over_pi = 0.6366197723675814  # 2/pi
sqrt_2 = 1.4142135623730951  # sqrt(2)
sqrt_pi = 1.772453850905516  # sqrt(pi)
sqrt_2pi = 2.5066282746310007  # sqrt(2*pi)
half_sqrt_pi = 0.886226925452758  # sqrt(pi)/2
one_over_sqrt_2 = 0.7071067811865476  # 1/sqrt(2)
one_over_sqrt_pi = 0.5641895835477563  # 1/sqrt(pi)
one_over_sqrt_2pi = 0.3989422804014327  # 1/sqrt(2*pi)
two_over_sqrt_pi = 1.1283791670955126  # 2/sqrt(pi)
inf = float("inf")  # infinity
nan = float("nan")  # no number
