/* Make system calls fail, and move the clock, in one process: LD_PRELOAD this library.

   The file named by FAULTS is a table that the test writes while the process runs (faults/shim.py
   has the same layout). Each rule names a call, a part of a path and an errno; `skip` calls succeed
   before the first failure, and `hits` counts the failures. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define RULES 32

struct rule {
    char call[16];  /* empty: this rule is off */
    char path[224]; /* part of the path */
    int32_t error;
    int32_t seconds; /* to wait before the call; the call then succeeds if error is 0 */
    int64_t skip;
    int64_t hits;
};

struct table {
    int64_t clock_ms;    /* added to the wall clock */
    int64_t block_bytes; /* larger blocks of memory cannot be had; 0: all can */
    struct rule rules[RULES];
};

static struct table *table;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("FAULTS");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *memory = (void *)syscall(SYS_mmap, NULL, sizeof(struct table), PROT_READ | PROT_WRITE,
                                   MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) table = memory;
    syscall(SYS_close, file);
}

/* Return true if a path has this part, at its end if the part ends with `$`. */
static int matches(const char *path, const char *part) {
    size_t length = strlen(part), size = strlen(path);
    if (!length || part[length - 1] != '$') return strstr(path, part) != NULL;
    return size >= length - 1 && strncmp(path + size - length + 1, part, length - 1) == 0;
}

/* Return the errno with which this call on this path fails, or 0. */
static int fault(const char *call, const char *path) {
    if (!table) return 0;
    for (int number = 0; number < RULES; number++) {
        struct rule *rule = &table->rules[number];
        if (strcmp(rule->call, call) != 0 || !matches(path, rule->path)) continue;
        if (__atomic_fetch_sub(&rule->skip, 1, __ATOMIC_SEQ_CST) > 0) continue;
        __atomic_fetch_add(&rule->hits, 1, __ATOMIC_SEQ_CST);
        for (int left = rule->seconds * 100; left > 0 && rule->call[0]; left--)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        if (rule->error) return rule->error;
    }
    return 0;
}

static int fault_of_file(const char *call, int file) {
    if (!table) return 0;
    for (int number = 0; number < RULES; number++)
        if (strcmp(table->rules[number].call, call) == 0) {
            char link[32], path[4096];
            snprintf(link, sizeof link, "/proc/self/fd/%d", file);
            long length = syscall(SYS_readlink, link, path, sizeof path - 1);
            path[length > 0 ? length : 0] = 0;
            return fault(call, path);
        }
    return 0;
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

#define FAIL(error, value) do { if (error) { errno = error; return value; } } while (0)

/* Calls with a file descriptor first. `name` is what a rule calls them. */
#define ON_FILE(type, symbol, name, parameters, arguments)             \
    type symbol parameters {                                           \
        static type(*real) parameters;                                 \
        if (!real) real = next(#symbol);                               \
        int error = fault_of_file(name, file);                         \
        FAIL(error, (type)-1);                                         \
        return real arguments;                                         \
    }

ON_FILE(ssize_t, write, "write", (int file, const void *data, size_t size), (file, data, size))
ON_FILE(ssize_t, pwrite, "write", (int file, const void *data, size_t size, off_t at),
        (file, data, size, at))
ON_FILE(ssize_t, pwrite64, "write", (int file, const void *data, size_t size, off64_t at),
        (file, data, size, at))
ON_FILE(ssize_t, read, "read", (int file, void *data, size_t size), (file, data, size))
ON_FILE(ssize_t, pread, "read", (int file, void *data, size_t size, off_t at),
        (file, data, size, at))
ON_FILE(ssize_t, pread64, "read", (int file, void *data, size_t size, off64_t at),
        (file, data, size, at))
ON_FILE(int, fsync, "fsync", (int file), (file))
ON_FILE(int, fdatasync, "fsync", (int file), (file))
ON_FILE(int, ftruncate, "ftruncate", (int file, off_t size), (file, size))
ON_FILE(int, ftruncate64, "ftruncate", (int file, off64_t size), (file, size))

/* Calls with a path first. */
#define ON_PATH(type, symbol, name, parameters, arguments)             \
    type symbol parameters {                                           \
        static type(*real) parameters;                                 \
        if (!real) real = next(#symbol);                               \
        int error = fault(name, path);                                 \
        FAIL(error, (type)-1);                                         \
        return real arguments;                                         \
    }

ON_PATH(int, mkdir, "mkdir", (const char *path, mode_t mode), (path, mode))
ON_PATH(int, unlink, "unlink", (const char *path), (path))
ON_PATH(int, rename, "rename", (const char *path, const char *to), (path, to))

static void *mapping(const char *symbol, void *at, size_t size, int access, int flags, int file,
                     off64_t offset) {
    void *(*real)(void *, size_t, int, int, int, off64_t) = next(symbol);
    int error = file >= 0 ? fault_of_file("mmap", file) : 0;
    FAIL(error, MAP_FAILED);
    return real(at, size, access, flags, file, offset);
}
void *mmap(void *at, size_t size, int access, int flags, int file, off_t offset) {
    return mapping("mmap", at, size, access, flags, file, offset);
}
void *mmap64(void *at, size_t size, int access, int flags, int file, off64_t offset) {
    return mapping("mmap64", at, size, access, flags, file, offset);
}

/* A rule "open" fails all opens, "create" those with O_CREAT or for writing. */
static int fault_of_open(const char *path, int flags) {
    int error = fault("open", path);
    if (!error && (flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC))) error = fault("create", path);
    return error;
}

#define MODE                                                           \
    mode_t mode = 0;                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                               \
        va_list list;                                                  \
        va_start(list, flags);                                         \
        mode = va_arg(list, mode_t);                                   \
        va_end(list);                                                  \
    }

int open(const char *path, int flags, ...) {
    MODE;
    int error = fault_of_open(path, flags);
    FAIL(error, -1);
    return ((int (*)(const char *, int, mode_t))next("open"))(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE;
    int error = fault_of_open(path, flags);
    FAIL(error, -1);
    return ((int (*)(const char *, int, mode_t))next("open64"))(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    MODE;
    int error = fault_of_open(path, flags);
    FAIL(error, -1);
    return ((int (*)(int, const char *, int, mode_t))next("openat"))(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE;
    int error = fault_of_open(path, flags);
    FAIL(error, -1);
    return ((int (*)(int, const char *, int, mode_t))next("openat64"))(folder, path, flags, mode);
}

/* Memory: large blocks fail, as without address space; small ones never do. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static int lacks_memory(size_t size) {
    if (!table || !table->block_bytes || size <= (size_t)table->block_bytes) return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t size) { return lacks_memory(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
    return lacks_memory(count * size) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *block, size_t size) {
    return lacks_memory(size) ? NULL : __libc_realloc(block, size);
}

/* The wall clock. The monotonic clock goes on as before. */
int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = next("clock_gettime");
    int result = real(clock, at);
    if (result == 0 && table && clock == CLOCK_REALTIME) {
        int64_t ns = at->tv_sec * 1000000000LL + at->tv_nsec + table->clock_ms * 1000000LL;
        at->tv_sec = ns / 1000000000LL;
        at->tv_nsec = ns % 1000000000LL;
    }
    return result;
}
int gettimeofday(struct timeval *at, void *zone) {
    (void)zone;
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return result;
}
time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}
