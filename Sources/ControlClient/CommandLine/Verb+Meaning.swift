import WatchFile

extension Verb {
    /// - Throws: a usage error that says which one may be meant.
    static func named(_ name: String) throws(Failure) -> Verb {
        if let verb = all.first(where: { $0.name == name }) { return verb }
        throw .usage(
            "there is no verb “\(name)”",
            help: meant(by: name).map { "did you mean “\($0)”?" } ?? "watchctl --help shows what there is")
    }

    /// The verb that somebody who knows other programs means, else the nearest spelling; never a verb that destroys.
    private static func meant(by name: String) -> String? {
        meanings[name] ?? Spelling.nearest(to: name, among: all.filter { !$0.destroys }.map(\.name))
    }

    /// By words of systemctl, journalctl, supervisorctl, docker, launchctl, at, cron and shells.
    private static let meanings = [
        "stat": "status", "top": "status", "info": "status", "summary": "status", "state": "status", "st": "status",
        "logs": "output", "log": "output", "stdout": "output", "tail": "follow",
        "watch": "follow", "monitor": "follow", "events": "follow", "journal": "follow", "maintail": "follow",
        "pause": "suspend", "hold": "suspend", "disable": "suspend", "unpause": "resume", "continue": "resume",
        "enable": "resume", "release": "resume",
        "list": "sources", "ls": "sources", "list-units": "sources", "units": "sources", "paths": "sources",
        "list-timers": "timers", "atq": "timers", "next": "timers", "ps": "operations", "jobs": "operations",
        "list-jobs": "operations", "pending": "operations", "why": "explain", "describe": "show", "inspect": "show",
        "errors": "failed", "failures": "failed", "list-failed": "failed", "past": "history", "runs": "history",
        "last": "history", "trigger": "run", "exec": "run", "invoke": "run", "fire": "emit", "send": "emit",
        "rerun": "retry", "again": "retry", "reread": "reload", "update": "reload", "daemon-reload": "reload",
        "verify": "check", "validate": "check", "lint": "check", "configtest": "check", "test": "check",
        "config": "check", "man": "help", "usage": "help", "version": "--version",
    ]
}
