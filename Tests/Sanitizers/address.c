// The address sanitizer's options, for every program: most tests choose the environment of those that they start. A process may
// leave memory to its end, so leaks are no fault. Their report would also fill the pipe that a test reads last, and both would
// wait for ever. scripts/sanitize links this into every program.
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
