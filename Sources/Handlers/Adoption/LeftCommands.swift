package import EventSources
import Glibc
import LinuxSystem

/// The commands of sources (`Command=` of a `[Descriptor]`) that an earlier watchd left running. Nobody reads their
/// output any more, and each takes away what the command that is started in its place is to hear.
package enum LeftCommands {
    /// Milliseconds from SIGTERM to SIGKILL.
    private static let patience: Int32 = 10_000

    /// Asks their process groups to end, and kills those that do not. Blocks until they have ended.
    ///
    /// - Returns: those that were killed.
    package static func end(_ commands: [AdoptableProcess], instance: InstanceName) -> [AdoptableProcess] {
        let left: [(command: AdoptableProcess, pidfd: Int32)] = commands.compactMap { command in
            guard let pidfd = try? Linux.pidfdOpen(command.pid).release() else { return nil }
            // Looked at when the number cannot change hands any more.
            guard let place = Linux.place(of: command.pid), !place.isZombie,
                AdoptableProcess(command.pid, place, instance: instance)?.isCommand == true
            else {
                FileDescriptor(owning: pidfd).close()
                return nil
            }
            return (command, pidfd)
        }
        defer { for (_, pidfd) in left { FileDescriptor(owning: pidfd).close() } }
        // A stopped process hears no SIGTERM.
        for (command, _) in left { for signal in [SIGTERM, SIGCONT] { send(signal, command) } }
        let begin = Linux.now(.monotonic)
        var killed: [AdoptableProcess] = []
        for (command, pidfd) in left {
            let waited = Int32(clamping: (Linux.now(.monotonic) - begin) / 1000)
            let end = try? Linux.poll(pidfd, .readable, timeout: max(0, patience - waited))
            guard end?.isEmpty != false else { continue }
            send(SIGKILL, command)
            _ = try? Linux.poll(pidfd, .readable, timeout: patience)
            killed.append(command)
        }
        return killed
    }

    private static func send(_ signal: Int32, _ command: AdoptableProcess) {
        try? Linux.kill(group: command.pid, signal: signal)
    }
}
