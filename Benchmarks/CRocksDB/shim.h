// The one header behind `import CRocksDB`: the C interface, as Debian's librocksdb-dev installs it.
#include <rocksdb/c.h>
