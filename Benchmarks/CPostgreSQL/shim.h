// The one header behind `import CPostgreSQL`: libpq's, as Debian's libpq-dev installs it.
#include <postgresql/libpq-fe.h>
