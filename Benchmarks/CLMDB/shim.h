// The one header behind `import CLMDB`, as Debian's liblmdb-dev installs it.
#include <lmdb.h>
