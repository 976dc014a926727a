/* What embeddings and scans of vectors spend most of their time on: products, and the pieces of words.
 *
 * hatch_build.py compiles this file once for each level of processors, into one library, and
 * kernels.py calls the functions of the highest level that the processor has. Without the library
 * numpy does the same: see embedders/sentence_encoder.py and kernels.dots. The tests compare both.
 */
#include <stdint.h>
#include <string.h>

#define JOINED(name, level) name##_##level
#define OF_LEVEL(name, level) JOINED(name, level)
#define VISIBLE __attribute__((visibility("default")))
#define EXPORTED(name) VISIBLE OF_LEVEL(name, LEVEL)

#if LEVEL == 0 /* any processor */

/* The checksum of this file when it was compiled: kernels.py uses no library of another one. */
unsigned VISIBLE source_checksum(void)
{
    return SOURCE_CHECKSUM;
}

/* The highest level that the processor has. */
int VISIBLE processor_level(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 1;
#endif
    return 0;
}

/* Products of a query with vectors, (count, dimensions) of 8 bits: (count). */
void EXPORTED(dots)(const int8_t *query, const int8_t *vectors, long count, long dimensions,
                    float *products)
{
    for (long i = 0; i < count; i++, vectors += dimensions) {
        int32_t sum = 0;
        for (long k = 0; k < dimensions; k++)
            sum += query[k] * vectors[k];
        products[i] = (float)sum;
    }
}

/* What kernels.py fills, of PieceTokenizer. A hash is a polynomial of a piece's characters. */
struct Pieces {
    const uint64_t *hashes;  /* in order */
    const int64_t *numbers;  /* of the piece with each hash */
    const float *scores;     /* by number */
    const uint8_t *may_be;   /* by the first 20 bits of a hash: 0 if no piece has them */
    uint64_t factor;
    int64_t count, longest, unknown;
    double unknown_score;
};

/* The best pieces up to a place of a word: their score, and the last of them. */
struct Best {
    double score;
    int32_t before, piece;
};

static int64_t piece_of(const struct Pieces *model, uint64_t hash)
{
    long low = 0, high = model->count;
    if (!model->may_be[hash >> 44])
        return -1;
    while (low < high) {
        long middle = (low + high) / 2;
        if (model->hashes[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->count && model->hashes[low] == hash ? model->numbers[low] : -1;
}

static void improve(struct Best *best, double score, long before, int64_t piece)
{
    if (score > best->score)
        *best = (struct Best){score, (int32_t)before, (int32_t)piece};
}

/* The numbers of the pieces of words, one word after another, and how many each has. `codes` are
 * the characters of all words; `best` has room for one place more than the longest word has. */
void EXPORTED(segment)(const struct Pieces *model, const uint32_t *codes, const int64_t *lengths,
                       long words, struct Best *best, int64_t *pieces, int64_t *counts)
{
    for (long word = 0; word < words; word++) {
        const long length = lengths[word];
        long count = 0;
        for (long place = 0; place <= length; place++)
            best[place].score = place ? -1e38 : 0;
        for (long place = 0; place < length; place++) {
            uint64_t hash = 0, power = 1;
            int has_one = 0;
            for (long size = 1; size <= model->longest && place + size <= length; size++) {
                hash += (codes[place + size - 1] + 1ull) * power;
                power *= model->factor;
                int64_t number = piece_of(model, hash);
                if (number < 0)
                    continue;
                improve(best + place + size, best[place].score + model->scores[number], place, number);
                has_one = has_one || size == 1;
            }
            if (!has_one)
                improve(best + place + 1, best[place].score + model->unknown_score, place,
                        model->unknown);
        }
        for (long place = length; place; place = best[place].before)
            count++;
        counts[word] = count;
        for (long place = length, at = count; place; place = best[place].before)
            pieces[--at] = best[place].piece;
        pieces += count;
        codes += length;
    }
}

#else /* the instructions of newer x86-64 processors */
#include <immintrin.h>

/* Weights are whole numbers of 8 bits. They lie in tiles of 64 outputs and groups of inputs:
 * (outputs / TILE, inputs / GROUP, TILE, GROUP). A product keeps the sums of some rows and outputs
 * in registers while it goes over the inputs.
 */
#define UNROLLED _Pragma("GCC unroll 8")

enum { TILE = 64, GAP = 2, BRANCHES = 3 };
enum { WIDTH = 256, EMBEDDED = 512, FEATURES = EMBEDDED + BRANCHES * WIDTH, ROW = 3840 };

#if LEVEL == 2 /* AVX-512 with VNNI: 64 products of 8 bits at once, one factor without a sign */
enum { LANES = 16, VECTORS = 4, ROWS = 6, GROUP = 4, ZERO = 128 };
typedef __m512 Floats;
typedef __m512i Wholes;
typedef uint8_t Cell;
typedef int8_t Weight;
#define PRODUCTS(sums, cells, weights) _mm512_dpbusd_epi32(sums, cells, weights)
#define REPEATED(group) _mm512_set1_epi32(group)
#define NO_WHOLES _mm512_setzero_si512()
#define NO_FLOATS _mm512_setzero_ps()
#define LOADED(place) _mm512_loadu_si512(place)
#define STORED(place, sums) _mm512_storeu_ps(place, sums)
#define AS_FLOATS(sums) _mm512_cvtepi32_ps(sums)
#define WIDENED(place) _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(place)))
#define MULTIPLIED(sums, one, weights) _mm512_fmadd_ps(_mm512_set1_ps(one), weights, sums)
#else /* AVX2: 16 products of 16 bits at once */
enum { LANES = 8, VECTORS = 2, ROWS = 4, GROUP = 2, ZERO = 0 };
typedef __m256 Floats;
typedef __m256i Wholes;
typedef int16_t Cell;
typedef int16_t Weight;
#define PRODUCTS(sums, cells, weights) _mm256_add_epi32(sums, _mm256_madd_epi16(cells, weights))
#define REPEATED(group) _mm256_set1_epi32(group)
#define NO_WHOLES _mm256_setzero_si256()
#define NO_FLOATS _mm256_setzero_ps()
#define LOADED(place) _mm256_loadu_si256((const void *)(place))
#define STORED(place, sums) _mm256_storeu_ps(place, sums)
#define AS_FLOATS(sums) _mm256_cvtepi32_ps(sums)
#define WIDENED(place) _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(place)))
#define MULTIPLIED(sums, one, weights) _mm256_fmadd_ps(_mm256_set1_ps(one), weights, sums)
#endif

/* Products of some rows with a tile's weights; past `count`, of the first row again. */
static inline __attribute__((always_inline)) void
multiply_rows(const float *rows, long count, long inputs, const int8_t *weights, long outputs,
              float *products, const int some)
{
    const float *row[ROWS];
    float *product[ROWS];
    for (int i = 0; i < some; i++) {
        row[i] = rows + (i < count ? i : 0) * inputs;
        product[i] = products + (i < count ? i : 0) * outputs;
    }
    for (long output = 0; output < outputs; output += LANES * VECTORS) {
        const int8_t *tile = weights + output / TILE * TILE * inputs + output % TILE;
        Floats sums[ROWS][VECTORS];
        UNROLLED for (int i = 0; i < some; i++)
            UNROLLED for (int v = 0; v < VECTORS; v++)
                sums[i][v] = NO_FLOATS;
        for (long k = 0; k < inputs; k++, tile += TILE)
            UNROLLED for (int v = 0; v < VECTORS; v++) {
                Floats one = AS_FLOATS(WIDENED(tile + v * LANES));
                UNROLLED for (int i = 0; i < some; i++)
                    sums[i][v] = MULTIPLIED(sums[i][v], row[i][k], one);
            }
        UNROLLED for (int i = 0; i < some; i++)
            UNROLLED for (int v = 0; v < VECTORS; v++)
                STORED(product[i] + output + v * LANES, sums[i][v]);
    }
}

/* Products of rows (count, inputs) with weights in groups of one: (count, outputs), in steps of
 * the weights. */
void EXPORTED(linear)(const float *rows, long count, long inputs, const int8_t *weights,
                      long outputs, float *products)
{
    for (; count > 1; count -= ROWS, rows += ROWS * inputs, products += ROWS * outputs)
        multiply_rows(rows, count, inputs, weights, outputs, products, ROWS);
    if (count == 1)
        multiply_rows(rows, count, inputs, weights, outputs, products, 1);
}

/* Products of ROWS windows, of which each begins WIDTH cells after the one before, with
 * weights: (count, WIDTH), FEATURES apart. Cells are numbers plus ZERO; `totals` are the sums of
 * the weights of each output. */
static void multiply_windows(const Cell *windows, long count, long inputs, const Weight *weights,
                             const int32_t *totals, float *products)
{
    const Cell *row[ROWS];
    for (int i = 0; i < ROWS; i++)
        row[i] = windows + (i < count ? i : 0) * WIDTH;
    for (long output = 0; output < WIDTH; output += LANES * VECTORS) {
        const Weight *tile = weights + output / TILE * TILE * inputs + output % TILE * GROUP;
        Wholes sums[ROWS][VECTORS];
        UNROLLED for (int i = 0; i < ROWS; i++)
            UNROLLED for (int v = 0; v < VECTORS; v++)
                sums[i][v] = NO_WHOLES;
        for (long k = 0; k < inputs; k += GROUP, tile += TILE * GROUP) {
            Wholes one[VECTORS];
            UNROLLED for (int v = 0; v < VECTORS; v++)
                one[v] = LOADED(tile + v * LANES * GROUP);
            UNROLLED for (int i = 0; i < ROWS; i++) {
                int32_t group;
                memcpy(&group, row[i] + k, sizeof group);
                UNROLLED for (int v = 0; v < VECTORS; v++)
                    sums[i][v] = PRODUCTS(sums[i][v], REPEATED(group), one[v]);
            }
        }
        UNROLLED for (int i = 0; i < ROWS; i++)
            UNROLLED for (int v = 0; v < VECTORS; v++)
                STORED(products + i * FEATURES + output + v * LANES, AS_FLOATS(sums[i][v]));
        for (int i = 0; i < ROWS && ZERO; i++)
            for (int k = 0; k < LANES * VECTORS; k++)
                products[i * FEATURES + output + k] -= (float)(ZERO * totals[output + k]);
    }
}

/* What kernels.py fills, of SentenceEncoder. */
struct Encoder {
    const Weight *weights[BRANCHES]; /* of the second convolutions */
    const int32_t *totals[BRANCHES];
    const float *bias[BRANCHES];
    const float *gain, *offset; /* of the layer normalization */
    float step[BRANCHES];       /* of the weights */
    float row_step, embedded_step, epsilon;
};

static const int SIZES[BRANCHES] = {2, 3, 5}, LEFT[BRANCHES] = {0, 1, 2};

/* Computes the first convolution of a text, with GAP empty places before and after as cells of a
 * scale, which it returns. */
static float convolve(const int16_t *rows, long count, int branch, int column, int16_t *outputs,
                      Cell *cells)
{
    int largest = 1;
    for (long place = 0; place < count; place++) {
        const int16_t *own = rows + place * ROW + column;
        int16_t *output = outputs + place * WIDTH, sums[WIDTH] = {0}, top = 0;
        for (int i = 0; i < SIZES[branch]; i++) {
            const int16_t *part = own + (i - LEFT[branch]) * ROW + (i + 1) * WIDTH;
            for (int k = 0; k < WIDTH; k++)
                sums[k] += part[k];
        }
        for (int k = 0; k < WIDTH; k++) {
            int16_t sum = (sums[k] > 0 ? sums[k] : 0) + own[k], size = sum < 0 ? -sum : sum;
            output[k] = sum;
            top = size > top ? size : top;
        }
        largest = top > largest ? top : largest;
    }
    const float scale = largest / 127.0f, inverse = 1 / scale;
    const float whole = 12582912; /* 1.5 * 2**23: sums with it are rounded to whole numbers */
    for (long k = 0; k < GAP * WIDTH; k++)
        cells[k] = cells[(GAP + count) * WIDTH + k] = ZERO;
    for (long place = 0; place < count; place++) {
        const int16_t *output = outputs + place * WIDTH;
        Cell *cell = cells + (GAP + place) * WIDTH;
        float scaled[WIDTH];
        for (int k = 0; k < WIDTH; k++)
            scaled[k] = output[k] * inverse;
        for (int k = 0; k < WIDTH; k++)
            cell[k] = (Cell)((int)((scaled[k] + whole) - whole) + ZERO);
    }
    return scale;
}

/* Adds the features of a place, scaled to variance 1, to sums; returns their mean. */
static float add_scaled(const float *features, float epsilon, float *sums)
{
    float totals[16] = {0}, squares[16] = {0}, total = 0, square = 0;
    for (int k = 0; k < FEATURES; k += 16)
        for (int j = 0; j < 16; j++) {
            totals[j] += features[k + j];
            squares[j] += features[k + j] * features[k + j];
        }
    for (int j = 0; j < 16; j++)
        total += totals[j], square += squares[j];
    float mean = total / FEATURES, variance = square / FEATURES - mean * mean;
    float scale = 1 / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss((variance > 0 ? variance : 0) + epsilon)));
    for (int k = 0; k < FEATURES; k++)
        sums[k] += scale * features[k];
    return scale * mean;
}

/* Sums of the normalized features of texts: (texts, FEATURES). `rows` has those of their tokens,
 * with GAP rows of zeros before, between and after the texts. `scratch` has room for 3,072 bytes
 * of each place of the longest text, with GAP more before and after it. */
void EXPORTED(text_sums)(const struct Encoder *model, const int16_t *rows, const int64_t *lengths,
                         long texts, char *scratch, float *sums)
{
    for (long text = 0; text < texts; text++, sums += FEATURES) {
        long count = lengths[text], places = count + 2 * GAP;
        int16_t *outputs = (int16_t *)scratch;
        Cell *cells = (Cell *)(outputs + BRANCHES * count * WIDTH);
        float scales[BRANCHES], means = 0;
        rows += GAP * ROW;
        for (int branch = 0, column = EMBEDDED; branch < BRANCHES; branch++) {
            scales[branch] = convolve(rows, count, branch, column, outputs + branch * count * WIDTH,
                                      cells + branch * places * WIDTH);
            column += (1 + SIZES[branch]) * WIDTH;
        }
        memset(sums, 0, FEATURES * sizeof *sums);
        for (long first = 0; first < count; first += ROWS) {
            float features[ROWS][FEATURES];
            long some = count - first < ROWS ? count - first : ROWS;
            for (int branch = 0; branch < BRANCHES; branch++) {
                float *part = features[0] + EMBEDDED + branch * WIDTH;
                const float *bias = model->bias[branch];
                const float step = scales[branch] * model->step[branch] * model->row_step;
                multiply_windows(cells + (branch * places + first + GAP - LEFT[branch]) * WIDTH,
                                 some, SIZES[branch] * WIDTH, model->weights[branch],
                                 model->totals[branch], part);
                for (long i = 0; i < some; i++, part += FEATURES) {
                    const int16_t *own = outputs + (branch * count + first + i) * WIDTH;
                    for (int k = 0; k < WIDTH; k++) {
                        float sum = part[k] * step + bias[k];
                        part[k] = (sum > 0 ? sum : 0) + own[k] * model->row_step;
                    }
                }
            }
            for (long i = 0; i < some; i++) {
                for (int k = 0; k < EMBEDDED; k++)
                    features[i][k] = rows[(first + i) * ROW + k] * model->embedded_step;
                means += add_scaled(features[i], model->epsilon, sums);
            }
        }
        for (int k = 0; k < FEATURES; k++)
            sums[k] = (sums[k] - means) * model->gain[k] + count * model->offset[k];
        rows += count * ROW;
    }
}

/* See LEVEL 0. A scan waits for memory: each vector asks for the one that lies AHEAD bytes later, a
 * LINE of the cache at a time. Asking for bytes that do not exist does nothing. */
enum { LINE = 64, AHEAD = 8192 };

void EXPORTED(dots)(const int8_t *query, const int8_t *vectors, long count, long dimensions,
                    float *products)
{
    const long wide = sizeof(Wholes) / sizeof(Cell), end = dimensions - dimensions % wide;
    for (long i = 0; i < count; i++, vectors += dimensions) {
        Wholes sums = NO_WHOLES;
        for (long k = 0; k < dimensions; k += LINE)
            _mm_prefetch((const char *)vectors + AHEAD + k, _MM_HINT_T0);
#if LEVEL == 2
        const Wholes zero = _mm512_set1_epi8((char)ZERO);
        Wholes excess = NO_WHOLES;
        for (long k = 0; k < end; k += wide) {
            Wholes other = LOADED(query + k);
            sums = PRODUCTS(sums, _mm512_xor_si512(LOADED(vectors + k), zero), other);
            excess = PRODUCTS(excess, zero, other);
        }
        int32_t sum = _mm512_reduce_add_epi32(_mm512_sub_epi32(sums, excess));
#else
        for (long k = 0; k < end; k += wide) {
            Wholes other = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)(query + k)));
            Wholes one = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)(vectors + k)));
            sums = PRODUCTS(sums, one, other);
        }
        int32_t parts[LANES], sum = 0;
        memcpy(parts, &sums, sizeof parts);
        for (int k = 0; k < LANES; k++)
            sum += parts[k];
#endif
        for (long k = end; k < dimensions; k++)
            sum += query[k] * vectors[k];
        products[i] = (float)sum;
    }
}
#endif
