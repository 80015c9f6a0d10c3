extension AppOptions {
    static let help = """
        Usage: latch-lab drill app [OPTIONS] -- PROGRAM [ARGUMENT...]

        Kills a program that stands on Core Bluetooth, starts it again, and says whether it goes on where it was. PROGRAM runs
        over a radio of this program's, with a peer beside it. One life of it is its start, its work up to what its rules file
        calls the goal, and some faults: a SIGKILL at one of its system calls, a link that is lost, an adapter that goes away
        and comes back, a peer that is killed. Behind each kill it is started again. What is believed comes from its standard
        output and from the air, never from its database. A life that broke a rule by several faults is played again with
        fewer, until one is left that breaks it alone.

        PROGRAM finds its adapter in LATCH_TRANSPORT and a fresh directory in LATCH_STATE and HOME. It has to write each line
        when it says it: a buffered standard output dies with the process (in Swift: setlinebuf(stdout)).

        Options:
          --rules FILE    What PROGRAM promises; PROGRAM.drill beside it by default.
          --kills N       Lives with one kill each, at calls drawn from the seed; \(defaultKills) by default. `every`: at each call.
          --storms N      Lives with several faults each, drawn from the seed; \(defaultStorms) by default.
          --from N        The first call that a kill may be at; 1 by default.
          --to M          The last; by default the last that a whole life makes.
          --at SIDE       Before the call is carried out or behind it: \(CallTrace.Side.allCases.map(\.rawValue).joined(separator: ", ")). Entry by default.
          --faults LIST   Play one life with these faults, such as kill@812,cut@90,unplug@end. The kinds are
                          \(AppFault.Kind.allCases.map(\.rawValue).joined(separator: ", ")). The number is that of the program's system call since
                          its start; end is when nothing is owed any more.
          --count         Only count the calls, by their names.
          --seed S        Of the radio, the kills and the storms; a fresh one by default, which is printed.
          --jobs J        Lives at the same time; eight for each core by default, since a life mostly waits.
          --json          One JSON object on standard output, for programs.
          --report DIR    Write a page of HTML, result.json and junit.xml there.

        The rules file has one rule a line, and `#` before what is for people. SIGHT is `prints "PATTERN"`, `peer prints "PATTERN"`
        or `air EVENT`. A PATTERN is a whole line, with * for anything. EVENT is something on the program's own adapter:
        \(AppAir.allCases.map(\.rawValue).joined(separator: ", ")).
          until SIGHT                     The goal. Each start of the program comes to it. Needed.
          peer program NAME [ARGUMENT...] The other program on the radio; without a slash, beside PROGRAM or in PATH.
          again SIGHT                     Due once more whenever a fault has taken a link.
          after SIGHT restart SIGHT       A program that is started again behind the first shows the second.
          after SIGHT restart never SIGHT And this it does not show, in no later start.
          after SIGHT never SIGHT         Nor does it once it has shown the first, in this start or a later one.
          when SIGHT then SIGHT           Behind the last of the first comes one of the second.
          never SIGHT                     At no time.
          excuse SIGHT                    A life that shows this is counted, and judged no further: a known limit.
          within N seconds                How long each of these may take: \(AppRules.defaultWithinSeconds) by default. Nothing fails for being slow before.
          environment NAME=VALUE          For both programs. LATCH_PAIRING is just-works unless this says otherwise.

        Exit status: 0 when every rule held, 1 when not, 2 when the command line or the rules file is wrong, 4 when the drill
        could not be run.

        """
}
