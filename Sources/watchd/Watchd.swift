import ControlClient
import ControlInterface
import Daemon
import Glibc
import LinuxSystem
import WatchFile

/// `watchd [OPTION…] [FILE|FOLDER…]`: reads the watch files, then runs until it is told to stop. Under the name
/// `watchctl` it is that program.
@main
enum Watchd {
    static func main() {
        if Linux.programName == Array("watchctl".utf8) { return Watchctl.main() }
        openStandardDescriptors()
        run(Linux.arguments.map { String(decoding: $0, as: UTF8.self) })
    }

    private static func run(_ arguments: [String]) {
        var paths: [String] = []
        var onlyChecks = false
        var isStrict = false
        var options = arguments[...]
        while let argument = options.popFirst() {
            switch argument {
            case "--help", "-h":
                say(usage, to: 1)
                exit(0)
            case "--version":
                say("watchd \(Manager.softwareVersion)", to: 1)
                exit(0)
            case "--check": onlyChecks = true
            case "--strict": isStrict = true
            case "--":
                paths += options
                options = []
            case _ where argument.hasPrefix("-") && argument != "-":
                let known = ["--check", "--help", "--strict", "--version"]
                let nearest = Spelling.nearest(to: argument, among: known).map { "; did you mean \($0)?" } ?? ""
                let shown = Array(argument.utf8).printable(doublingBackslashes: false)
                say("watchd: unknown option \(shown)\(nearest)\nTry watchd --help.", to: 2)
                exit(2)
            default: paths.append(argument)
            }
        }
        run(Daemon.Options(arguments: paths, isStrict: isStrict), onlyChecks: onlyChecks)
    }

    private static func run(_ daemonOptions: Daemon.Options, onlyChecks: Bool) {
        if onlyChecks {
            let result = Daemon.load(daemonOptions, lookUp: .everything).result
            for diagnostic in result.diagnostics { say(diagnostic.rendered(), to: 2) }
            exit(result.configuration == nil ? 78 : 0)
        }
        let beginning = Daemon.Beginning(daemonOptions)
        for line in beginning.lines { say(line, to: 2) }
        guard let configuration = beginning.configuration else { exit(78) }
        do {
            try Daemon(daemonOptions, configuration, beginning).run()
        } catch {
            say("watchd: cannot start: \(error)", to: 2)
            // Trying again would not help.
            exit(Daemon.isForPeople(error) ? 78 : 1)
        }
    }

    /// Where there is nobody to read it, nothing more can be done.
    private static func say(_ text: String, to descriptor: Int32) {
        try? Linux.writeAll(descriptor, Array("\(text)\n".utf8))
    }

    /// Started with a standard descriptor closed, the first one opened would take its place, and handlers would write
    /// there.
    private static func openStandardDescriptors() {
        while let descriptor = try? Linux.open("/dev/null", .readingAndWriting) {
            if descriptor.rawValue > 2 { return descriptor.close() }
            _ = descriptor.release()
        }
    }

    private static let usage = """
        watchd [OPTION…] [FILE|FOLDER…]

        Turns events into work on queues, as the watch files say. A folder means its *.watch files; without arguments
        those of $CONFIGURATION_DIRECTORY, else of /etc/watchd (root) or ~/.config/watchd.

          --check      only check the files: print what is wrong with them, exit 0 or 78
          --strict     as a service too, end on files with errors: never run the last configuration that was in force
          --help       this
          --version    the version

        Exit status: 0 stopped on request, 1 could not start, 2 wrong usage, 78 invalid watch file, or a store that needs
        manual repair.
        """
}
