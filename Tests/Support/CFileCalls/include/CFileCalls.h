/* Nothing is called here: the library is loaded before all others (LD_PRELOAD) and takes the place of the C library's
 * functions; see the source. */
#ifndef CFILECALLS_H
#define CFILECALLS_H

/* So that the module has a name in it. */
#define CFILECALLS_FORMAT 1

#endif
