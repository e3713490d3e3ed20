import Engine
import LinuxSystem

/// The file at the path, and the targets of links there.
extension TailSource {
    var missing: String {
        guard (try? Linux.lstat(path)) != nil, let end = links?.end else {
            return "\(path.printable) does not exist yet"
        }
        return "\(path.printable) leads to \(end.printable), which does not exist yet"
    }

    /// There is nothing to go on with: what is open is followed, and what stands at the path instead is no log.
    func restsHere() {
        var now = SourceCondition.armed
        if let kind = (try? Linux.stat(path))?.kind, kind != .regular {
            now = .failed("\(path.printable) is \(kind.phrase), and no regular file")
        }
        guard now != condition else { return }
        retry.reset()
        say(now)
    }

    func followLinks() {
        links?.follow()
        linksFollowed()
    }

    func linksFollowed() {
        if let limit = links?.limit { environment.limited(id, SourceLimit(limit)) }
        let failure = links?.failure
        defer { linkFailure = failure }
        guard let failure, failure != linkFailure else { return }
        environment.warn(id, "the targets of links in \(path.printable) are not watched: \(failure)")
    }
}
