/* Lets StratusKit do something before any code of a client runs: Swift has no load-time constructors. */
#ifndef CSYSTEM_CLOADHOOK_H
#define CSYSTEM_CLOADHOOK_H

/* StratusKit's, called once when the process, or the library that holds StratusKit, is loaded. */
void stratus_register_class_names(void);

/* Does nothing. Code that needs the call above calls this one: a linker takes an object out of a static library only
   where something in it is named. */
void stratus_keep_load_hook(void);

#endif
