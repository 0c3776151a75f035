// The test runner walks the stack for every error that is thrown, so that a report could show where it came from. Ours
// show none, and decoders that refuse ten thousand inputs took twice as long. The runner registers its function in these
// variables of Swift's runtime. A program's own variables of these names come first, and the runtime never reads them.
#include <stddef.h>

__attribute__((used)) void *_swift_willThrow = NULL;
__attribute__((used)) void *_swift_willThrowTypedImpl = NULL;
