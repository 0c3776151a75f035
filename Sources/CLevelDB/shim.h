// The one header behind `import CLevelDB`: LevelDB's C API, as the system ships it.
#include <leveldb/c.h>
