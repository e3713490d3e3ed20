import ControlClient

/// `watchctl` by itself, as the build has it. Where watchd is installed, `watchctl` is a link to `watchd`, which holds
/// the same code: the runtime of Swift, most of either, is there once.
@main
enum WatchctlProgram {
    static func main() { Watchctl.main() }
}
