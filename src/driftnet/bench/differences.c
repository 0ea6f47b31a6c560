/* Finite differences as one writes them in C, compiled by `driftnet bench solvers`.
   Single precision, the torus, fourth order in space; arrays (b, n + 4, n + 4) with a border of two points. */
#include <math.h>
#include <stddef.h>

static void close_border(float *u, int n) {
    int w = n + 4;
    for (int i = 2; i < n + 2; i++) {
        float *row = u + (size_t)i * w;
        row[0] = row[n], row[1] = row[n + 1], row[n + 2] = row[2], row[n + 3] = row[3];
    }
    for (int j = 0; j < w; j++) {
        u[j] = u[(size_t)n * w + j], u[w + j] = u[(size_t)(n + 1) * w + j];
        u[(size_t)(n + 2) * w + j] = u[2 * w + j], u[(size_t)(n + 3) * w + j] = u[3 * w + j];
    }
}

static inline float laplacian(const float *u, int w) {
    return (16 * (u[-1] + u[1] + u[-w] + u[w]) - (u[-2] + u[2] + u[-2 * w] + u[2 * w]) - 60 * u[0]) * (1.0f / 12);
}

/* Fourth order in time; scale is (c dt / dx)^2. `before` takes what is ahead; `room` is one field. */
void wave(float *restrict now, float *restrict before, const float *restrict scale, const float *restrict damping,
          float *restrict room, int batch, int n) {
    int w = n + 4;
    for (int k = 0; k < batch; k++) {
        size_t field = (size_t)k * w * w;
        float *u = now + field, *p = before + field;
        const float *c = scale + field;
        close_border(u, n);
        for (int i = 2; i < n + 2; i++)
            for (int j = 2; j < n + 2; j++) {
                size_t a = (size_t)i * w + j;
                room[a] = c[a] * laplacian(u + a, w);
            }
        close_border(room, n);
        for (int i = 2; i < n + 2; i++)
            for (int j = 2; j < n + 2; j++) {
                size_t a = (size_t)i * w + j;
                float push = room[a] + c[a] * laplacian(room + a, w) * (1.0f / 12);
                p[a] = (2 * u[a] - (1 - damping[a]) * p[a] + push) / (1 + damping[a]);
            }
    }
}

/* Strang splitting: diffusion to second order in time, u + d + d'/2 with d = dt Lap u, then the exact reaction.
   rate is dt / dx^2, decay exp(-2 dt rate^2). */
void allen_cahn(float *restrict state, float *restrict room, int batch, int n, float rate, float decay) {
    int w = n + 4;
    for (int k = 0; k < batch; k++) {
        float *u = state + (size_t)k * w * w;
        close_border(u, n);
        for (int i = 2; i < n + 2; i++)
            for (int j = 2; j < n + 2; j++) {
                size_t a = (size_t)i * w + j;
                room[a] = rate * laplacian(u + a, w);
            }
        close_border(room, n);
        for (int i = 2; i < n + 2; i++)
            for (int j = 2; j < n + 2; j++) {
                size_t a = (size_t)i * w + j;
                float v = u[a] + room[a] + rate * laplacian(room + a, w) * 0.5f;
                u[a] = v / sqrtf(v * v * (1 - decay) + decay);
            }
    }
}
