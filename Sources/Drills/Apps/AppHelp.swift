extension AppOptions {
    static let help = """
        Usage: latch-lab drill app [OPTIONS] -- PROGRAM [ARGUMENT...]

        Kills a program that uses Core Bluetooth, starts it again, and says whether it goes on where it was. PROGRAM and a peer
        run over a radio that this program simulates. In one life PROGRAM starts, works until it reaches the goal that its rules
        file names, and meets some faults: a SIGKILL at one of its system calls, a link that is lost, an adapter that goes away
        and comes back, a peer that is killed. After each kill PROGRAM is started again. The drill judges by what PROGRAM prints
        and by the air, never by PROGRAM's database. If several faults together broke a rule, the life is played again with
        fewer of them. What remains is the least that still breaks the rule.

        PROGRAM finds its adapter in LATCH_TRANSPORT, and a fresh directory in LATCH_STATE and HOME. It has to write each line at
        once: a buffered standard output is lost with the process (in Swift: setlinebuf(stdout)).

        Options:
          --rules FILE    What PROGRAM promises; PROGRAM.drill beside it by default.
          --kills N       Lives with one kill each, at calls drawn from the seed; \(defaultKills) by default. `every`: at each call.
          --storms N      Lives with several faults each, drawn from the seed; \(defaultStorms) by default.
          --from N        The first call that a kill may be at; 1 by default.
          --to M          The last; by default the last that a whole life makes.
          --at SIDE       Whether a kill comes before or after its call: \(CaseOptions.names(CallTrace.Side.self)). Entry by default.
          --faults LIST   Play one life with these faults, such as kill@812,cut@90,unplug@end. The kinds are
                          \(CaseOptions.names(AppFault.Kind.self)). A number counts PROGRAM's system calls since its start; end is
                          when PROGRAM has done all that the rules ask for.
          --count         Only count the calls, by their names.
          --seed S        Of the radio, the kills and the storms; a fresh one by default, which is printed.
          --jobs J        Lives at the same time; eight for each core by default, since a life mostly waits.
          --json          One JSON object on standard output, for programs.
          --report DIR    Write a page of HTML, result.json and junit.xml there.

        The rules file has one rule on each line, and `#` begins a comment. SIGHT is `prints "PATTERN"`, `peer prints "PATTERN"`
        or `air EVENT`. A PATTERN is a whole line, with * for anything. EVENT is something on PROGRAM's own adapter:
        \(CaseOptions.names(AppAir.self)).
          until SIGHT                     The goal: each start of PROGRAM has to come to it. Every file needs one.
          peer program NAME [ARGUMENT...] The other program on the radio; without a slash, beside PROGRAM or in PATH.
          again SIGHT                     PROGRAM has to show this again after each fault that ended a link.
          after SIGHT restart SIGHT       If PROGRAM is started again after the first, it has to show the second.
          after SIGHT restart never SIGHT If PROGRAM is started again after the first, it may not show the second.
          after SIGHT never SIGHT         After the first the second may not be seen, in this start or a later one.
          when SIGHT then SIGHT           The last of the first has to be followed by the second.
          never SIGHT                     This may not be seen at any time.
          excuse SIGHT                    A known limit: a life that shows this is counted, and not judged any further.
          within N seconds                How long each of these may take: \(AppRules.defaultWithinSeconds) by default.
          environment NAME=VALUE          For both programs. LATCH_PAIRING is just-works unless this says otherwise.

        Exit status: 0 when every rule held, 1 when not, 2 when the command line or the rules file is wrong, 4 when the drill
        could not be run.

        """
}
