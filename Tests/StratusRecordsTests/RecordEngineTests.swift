// The engine's answers to single requests, on the in-memory store.

import Testing
