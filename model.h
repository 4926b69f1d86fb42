/* model: energy, exported by pullback.

             in C             in Python
   argument  double x[5]      x          float64 (5,)
   argument  double k[4]      k          float64 (4,)
   result    double out_0[1]  result[0]  float64 ()
   result    double out_1[5]  result[1]  float64 (5,)

   Arrays are in C order: the last index moves fastest. Results and `workspace`, MODEL_WORKSPACE bytes at any
   address, must overlap neither one another nor an argument. Nothing is allocated, nothing is kept: threads
   may run it together, each with a workspace of its own. Link with the library of math.h.

   It returns 0; or 1 if an index was out of range or a check has failed: then the results are of no use.
*/
#ifndef MODEL_H
#define MODEL_H

enum { MODEL_WORKSPACE = 192 };

#ifdef __cplusplus
extern "C" {
#endif

int model(const double *x, const double *k, double *out_0, double *out_1, void *workspace);

#ifdef __cplusplus
}
#endif

#endif
