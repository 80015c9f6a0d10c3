// Where a program of `scripts/coverage` has its counts, whatever its environment says: each process in a file of its own, so that
// one which is killed while it makes its file costs nobody else's. `%c` has them stand there from the beginning, and not written
// at the end, which no process comes to that is killed.
char __llvm_profile_filename[] = PROFILES "/%c%p.profraw";
