/* Records the changes that a process makes below a directory, and makes them fail. Preloaded into the process.
 *
 * FAULTS_ROOT    the directory, without symbolic links in its path
 * FAULTS_TRACE   file that gets a record per change: "NAME\tPATH\tSECOND\tOFFSET\tLENGTH\n" and LENGTH bytes
 * FAULTS_AT      number of the change at which the fault happens, from 1
 * FAULTS_ERROR   errno of the failing call; 0: SIGKILL before the call; -1: half of a write, or nothing, then SIGKILL;
 *                -2: half of a write succeeds, as a write may
 * FAULTS_READS   1: opens for reading are counted and made to fail in place of changes; a record has both
 *
 * Changes are: create, truncate, write, rename, unlink, mkdir, rmdir, fsync. A file that is opened only for reading is
 * no change; its record is "open". `second` is the new name of a rename.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define FILES 65536

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char *paths[FILES]; /* of open files below the root */
static int appending[FILES];
static const char *root;
static int trace = -1;
static long count, at, fault;
static int reads; /* whether opens for reading are counted in place of changes */

static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_open)(const char *, int, ...);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);
static int (*real_mkdir)(const char *, mode_t);
static int (*real_rmdir)(const char *);
static int (*real_fsync)(int);
static int (*real_close)(int);
static int (*real_ftruncate)(int, off_t);
static ssize_t (*real_sendfile)(int, int, off_t *, size_t);
static ssize_t (*real_copy)(int, off_t *, int, off_t *, size_t, unsigned);
static int (*real_unlinkat)(int, const char *, int);

static void begin(void) __attribute__((constructor));

static void find(void) {
    if (real_write) return;
    real_open = dlsym(RTLD_NEXT, "open64");
    real_rename = dlsym(RTLD_NEXT, "rename");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_mkdir = dlsym(RTLD_NEXT, "mkdir");
    real_rmdir = dlsym(RTLD_NEXT, "rmdir");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_close = dlsym(RTLD_NEXT, "close");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_sendfile = dlsym(RTLD_NEXT, "sendfile64");
    real_copy = dlsym(RTLD_NEXT, "copy_file_range");
    real_unlinkat = dlsym(RTLD_NEXT, "unlinkat");
    real_write = dlsym(RTLD_NEXT, "write");
}

/* Begins to watch a directory. A forked process calls it with what else the variables say; `record_path` may be "". */
void faults_watch(const char *directory, const char *record_path, long change, long kind, long of_reads) {
    root = strdup(directory);
    reads = of_reads != 0;
    at = change;
    fault = kind;
    count = 0;
    if (*record_path) {
        int file = real_open(record_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        trace = fcntl(file, F_DUPFD_CLOEXEC, 900);
        real_close(file);
    }
}

static void begin(void) {
    find();
    const char *names[] = {"FAULTS_ROOT", "FAULTS_TRACE", "FAULTS_AT", "FAULTS_ERROR", "FAULTS_READS"}, *values[5];
    for (int i = 0; i < 5; i++) values[i] = getenv(names[i]) ? getenv(names[i]) : i < 2 ? "" : "0";
    if (*values[0]) faults_watch(values[0], values[1], atol(values[2]), atol(values[3]), atol(values[4]));
}

/* The path with its directory resolved, relative to the root; NULL if it is elsewhere. The caller frees it. */
static char *below(const char *path) {
    if (!root || !path) return NULL;
    char copy[PATH_MAX], resolved[PATH_MAX], whole[2 * PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/') copy[--length] = 0;
    char *slash = strrchr(copy, '/');
    const char *name = slash ? slash + 1 : copy;
    char directory[PATH_MAX];
    if (!slash) strcpy(directory, ".");
    else snprintf(directory, sizeof directory, "%.*s", (int)(slash - copy ? slash - copy : 1), copy);
    if (!realpath(directory, resolved)) return NULL;
    snprintf(whole, sizeof whole, "%s/%s", resolved, name);
    size_t wide = strlen(root);
    if (strncmp(whole, root, wide) || whole[wide] != '/') return NULL;
    return strdup(whole + wide + 1);
}

static void put(const void *bytes, size_t length) {
    const char *next = bytes;
    while (length) {
        ssize_t done = real_write(trace, next, length);
        if (done <= 0) abort();
        next += done;
        length -= done;
    }
}

static void record(const char *name, const char *path, const char *second, long offset, const void *bytes, size_t length) {
    if (trace < 0) return;
    char head[3 * PATH_MAX];
    int wide = snprintf(head, sizeof head, "%s\t%s\t%s\t%ld\t%zu\n", name, path, second, offset, bytes ? length : 0);
    put(head, wide);
    if (bytes) put(bytes, length);
}

/* Counts an event. Nonzero: the call fails, and errno is set. The halves of a write are left to the write. */
static int counted_fails(int writes) {
    if (++count != at) return 0;
    if (fault == 0 || (fault == -1 && !writes)) raise(SIGKILL);
    if (fault < 0) return 0;
    errno = (int)fault;
    return 1;
}

static int fails(int writes) { return reads ? 0 : counted_fails(writes); }

/* Records an open for reading below the root, and counts it, if they are counted. Nonzero: it fails, and errno is set. */
static int refuses(const char *path) {
    char *name = reads || trace >= 0 ? below(path) : NULL;
    if (!name) return 0;
    pthread_mutex_lock(&lock);
    struct stat about;
    int there = stat(path, &about) == 0; /* a missing file cannot be opened anyway */
    int refused = there && reads && counted_fails(0);
    if (there && !refused) record("open", name, "", 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    free(name);
    return refused;
}

static void forget(int file) {
    if (file < 0 || file >= FILES) return;
    free(paths[file]);
    paths[file] = NULL;
}

static int opened(const char *path, int flags, mode_t mode) {
    find();
    int reading = (flags & O_ACCMODE) == O_RDONLY && !(flags & O_CREAT);
    if (reading && refuses(path)) return -1;
    char *name = reading ? NULL : below(path);
    if (!name) {
        int file = real_open(path, flags, mode);
        if (file >= 0) forget(file);
        return file;
    }
    pthread_mutex_lock(&lock);
    struct stat about;
    int there = stat(path, &about) == 0, file = -1;
    int plain = !there || S_ISREG(about.st_mode);
    int changes = plain && ((!there && flags & O_CREAT) || (there && flags & O_TRUNC && about.st_size > 0));
    if (!changes || !fails(0)) {
        file = real_open(path, flags, mode);
        if (file >= 0 && file < FILES) {
            if (changes) record(there ? "truncate" : "create", name, "", 0, NULL, 0);
            forget(file);
            appending[file] = (flags & O_APPEND) != 0;
            if (plain) paths[file] = strdup(name);
        }
    }
    pthread_mutex_unlock(&lock);
    free(name);
    return file;
}

#define OPEN(NAME)                                                 \
    int NAME(const char *path, int flags, ...) {                   \
        va_list more;                                              \
        va_start(more, flags);                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more);                                              \
        return opened(path, flags, mode);                          \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(NAME)                                               \
    int NAME(int directory, const char *path, int flags, ...) {    \
        va_list more;                                              \
        va_start(more, flags);                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more);                                              \
        if (directory == AT_FDCWD || *path == '/') return opened(path, flags, mode); \
        static int (*real)(int, const char *, int, ...);           \
        if (!real) real = dlsym(RTLD_NEXT, "openat64");            \
        return real(directory, path, flags, mode);                 \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int file) {
    find();
    forget(file);
    return real_close(file);
}

static int ours(int file) { return file >= 0 && file < FILES && paths[file] && file != trace; }

static long position(int file) { return appending[file] ? lseek(file, 0, SEEK_END) : lseek(file, 0, SEEK_CUR); }

ssize_t write(int file, const void *bytes, size_t length) {
    find();
    if (!ours(file)) return real_write(file, bytes, length);
    pthread_mutex_lock(&lock);
    ssize_t done = -1;
    if (!fails(1)) {
        long offset = position(file);
        int hit = !reads && count == at;
        size_t part = hit && fault < 0 ? length / 2 : length;
        done = real_write(file, bytes, part);
        if (done > 0) record("write", paths[file], "", offset, bytes, done);
        if (hit && fault == -1) raise(SIGKILL);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

/* Copies of a file inside the kernel are refused as a file system may refuse them: the caller then reads and writes. */
ssize_t sendfile64(int to, int from, off_t *offset, size_t length) {
    find();
    if (ours(to)) {
        errno = EINVAL;
        return -1;
    }
    return real_sendfile(to, from, offset, length);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t length) { return sendfile64(to, from, offset, length); }

ssize_t copy_file_range(int from, off_t *first, int to, off_t *second, size_t length, unsigned flags) {
    find();
    if (ours(to)) {
        errno = EXDEV;
        return -1;
    }
    return real_copy(from, first, to, second, length, flags);
}

int ftruncate64(int file, off_t length) {
    find();
    if (!ours(file)) return real_ftruncate(file, length);
    pthread_mutex_lock(&lock);
    struct stat about;
    int done = -1;
    if (fstat(file, &about) == 0 && about.st_size == length) done = real_ftruncate(file, length);
    else if (!fails(0) && !(done = real_ftruncate(file, length))) record("truncate", paths[file], "", length, NULL, 0);
    pthread_mutex_unlock(&lock);
    return done;
}
int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

static int synced(int file) {
    find();
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    char *name = NULL;
    if (length > 0) {
        path[length] = 0;
        name = below(path);
    }
    if (!name) return real_fsync(file);
    pthread_mutex_lock(&lock);
    int done = fails(0) ? -1 : real_fsync(file);
    if (!done) record("fsync", name, "", 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    free(name);
    return done;
}
int fsync(int file) { return synced(file); }
int fdatasync(int file) { return synced(file); }

static int moved(const char *from, const char *to) {
    find();
    char *first = below(from), *second = below(to);
    int done = -1;
    pthread_mutex_lock(&lock);
    if (!first || !second) done = real_rename(from, to);
    else if (!fails(0) && !(done = real_rename(from, to))) {
        record("rename", first, second, 0, NULL, 0);
        for (int file = 0; file < FILES; file++) /* an open file keeps growing under its new name */
            if (paths[file] && !strcmp(paths[file], first)) {
                free(paths[file]);
                paths[file] = strdup(second);
            }
    }
    pthread_mutex_unlock(&lock);
    free(first);
    free(second);
    return done;
}
int rename(const char *from, const char *to) { return moved(from, to); }

static int changed(const char *kind, const char *path, mode_t mode) {
    find();
    char *name = below(path);
    int done = -1;
    pthread_mutex_lock(&lock);
    struct stat about;
    int there = lstat(path, &about) == 0, makes = !strcmp(kind, "mkdir");
    if (!name || there == makes || !fails(0)) { /* a call that fails anyway changes nothing */
        done = makes ? real_mkdir(path, mode) : !strcmp(kind, "rmdir") ? real_rmdir(path) : real_unlink(path);
        if (name && !done) record(kind, name, "", 0, NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    free(name);
    return done;
}
int unlink(const char *path) { return changed("unlink", path, 0); }
int mkdir(const char *path, mode_t mode) { return changed("mkdir", path, mode); }
int rmdir(const char *path) { return changed("rmdir", path, 0); }

/* shutil.rmtree removes names relative to an open directory. */
int unlinkat(int directory, const char *path, int flags) {
    find();
    if (directory == AT_FDCWD || *path == '/') return changed(flags & AT_REMOVEDIR ? "rmdir" : "unlink", path, 0);
    char link[64], whole[2 * PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = readlink(link, whole, PATH_MAX);
    if (length < 0) return real_unlinkat(directory, path, flags);
    snprintf(whole + length, sizeof whole - length, "/%s", path);
    return changed(flags & AT_REMOVEDIR ? "rmdir" : "unlink", whole, 0);
}
