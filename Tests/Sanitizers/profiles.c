// Where a program of `scripts/coverage` leaves its counts, whatever its environment says: each process in a file of its own,
// so that one which is killed while it writes costs nobody else's.
char __llvm_profile_filename[] = PROFILES "/%p.profraw";
