/* Lets StratusKit do something before any code of a client runs: Swift has no load-time constructors of its own. */
#ifndef CLOADHOOK_H
#define CLOADHOOK_H

/* StratusKit's, called once when the process, or the library that holds StratusKit, is loaded. */
void stratus_register_class_names(void);

#endif
