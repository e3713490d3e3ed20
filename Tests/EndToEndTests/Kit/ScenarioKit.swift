import LinuxSystem
import ProgramKit

/// The words of a scenario: programs for its handlers, and functions for its steps.
enum ScenarioKit {
    /// `job NAME`: notes its begin and its end; between the two it waits until the steps say `go NAME [STATUS]`, and
    /// ends with that status. `job NAME free` waits for nobody. A job that opens its gate while the shell that let the
    /// job before it go still has it open reads an end of file, and waits on.
    private static let job = """
        #!/bin/sh
        cd "${0%/*}" || exit
        [ "${2-}" = free ] || [ -p "gate.$1" ] || mkfifo "gate.$1"
        echo "begin $1" >>ran
        status=0
        [ "${2-}" = free ] || until read -r status <"gate.$1"; do :; done
        echo "end $1" >>ran
        exit "$status"

        """

    /// `note WORD…`: writes a line into `ran`.
    private static let note = """
        #!/bin/sh
        echo "$*" >>"${0%/*}/ran"

        """

    /// `ctl WORD…`: watchctl, asking the daemon of the scenario.
    private static func control(_ folder: Folder) throws -> String {
        "#!/bin/sh\nexec \(try Products.path("watchctl")) --socket \(folder["socket"]) \"$@\"\n"
    }

    /// - `watchctl WORD…`: as the verb, its output kept for the failure of the test.
    /// - `emit NAME DATA…`: an event for each.
    /// - `within COMMAND`: waits until the command succeeds; the scenario fails when it does not for 30 s.
    /// - `await N`: waits for N notes. `noted NOTE`: is it there? `counted N NOTE`: so often?
    /// - `go NAME [STATUS]`: lets a job go, and waits for its end.
    /// - `id HANDLER`: the number of its oldest operation that has not ended.
    /// - `shows VERB TEXT`: whether the verb's JSON has the text.
    private static let head = """
        watchctl() { ./ctl "$@" >>steps.log 2>&1; }
        note() { ./note "$@"; }
        emit() { to=$1; shift; for data; do watchctl emit "$to" --data "$data"; done; }
        within() {
            tries=0
            until "$@"; do
                tries=$((tries + 1))
                [ $tries -lt 1500 ] || { echo "in vain: $*" >>steps.log; return 1; }
                sleep 0.02
            done
        }
        lines() { [ "$(wc -l 2>/dev/null <ran || echo 0)" -ge "$1" ]; }
        await() { within lines "$1"; }
        count() { cat ran 2>/dev/null | grep -cxF -- "$1" || true; }
        noted() { [ "$(count "$1")" -gt 0 ]; }
        counted() { [ "$(count "$2")" -ge "$1" ]; }
        go() {
            ends=$(count "end $1")
            within test -p "gate.$1"
            echo "${2-0}" >"gate.$1"
            within counted $((ends + 1)) "end $1"
        }
        id() { ./ctl --json operations --handler "$1" | grep -o '"id":[0-9]*' | head -n 1 | tr -dc 0-9; }
        shows() { ./ctl --json "$1" | grep -q -- "$2"; }

        """

    static func install(in folder: Folder) throws {
        try folder.makeFolder("in")
        try folder.write("job", job, mode: 0o755)
        try folder.write("note", note, mode: 0o755)
        try folder.write("ctl", try control(folder), mode: 0o755)
    }

    static func run(_ steps: String, in folder: Folder) throws -> Finished {
        try Program.run(["/bin/sh", "-eu", "-c", head + steps], folder: folder.path, seconds: 240)
    }
}
