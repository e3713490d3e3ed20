import ControlInterface
import Engine
import EventSources
import Handlers
import LinuxSystem
import Schedule
import WatchFile

/// `Explain` of a path, which need not exist: the events of it that are still known and what became of them, then
/// which sources see it, and why others above it do not.
extension Runtime {
    func explain(path: [UInt8], _ done: @escaping ([Explanation]) -> Void) {
        lookBeside(at: path) { [unowned self] look in
            let writers = look.writers.map { Explanation(code: .open, sentence: $0) }
            done(explain(path: path, look) + [writers].compactMap(\.self))
        }
    }

    private func explain(path: [UInt8], _ look: PathLookBeside) -> [Explanation] {
        let told = follow.events(ofPath: path)
        let became = engine.explain(events: Set(told.map(\.event.id)))
        let past = (told.map { Self.explanation($0) } + became).enumerated()
            // At one time, an event stands before the operations that it made; what is now comes last.
            .sorted { ($0.element.time ?? .max, $0.offset) < ($1.element.time ?? .max, $1.offset) }
        return past.map(\.element) + sights(of: path, look)
    }

    /// Without empty components, `.`, and a slash at the end; `..` goes up, as the shell has it.
    static func normalized(_ path: [UInt8]) -> [UInt8] {
        var components: [ArraySlice<UInt8>] = []
        for component in path.split(separator: UInt8(ascii: "/")) where !component.elementsEqual(".".utf8) {
            if component.elementsEqual("..".utf8) { _ = components.popLast() } else { components.append(component) }
        }
        let slash = UInt8(ascii: "/")
        return components.isEmpty ? [slash] : components.reduce(into: []) { $0 += [slash] + $1 }
    }

    private static func explanation(_ told: FollowHub.ToldEvent) -> Explanation {
        let handlers = told.handlers.isEmpty ? "nobody" : told.handlers.joined(separator: ", ")
        let sentence = "event \(told.event.id): \(EventText.sentence(told.event)), for \(handlers)"
        return Explanation(time: told.event.time, code: .told, sentence: sentence, section: "\(told.origin)")
    }

    // MARK: Which sources see it

    private func sights(of path: [UInt8], _ look: PathLookBeside) -> [Explanation] {
        if ownPaths.contains(where: { path.isAtOrBelow($0) }) {
            return [Explanation(code: .unseen, sentence: "watchd itself writes here, and no source is told of that")]
        }
        let steps = engine.sourceViews.filter(\.isListed).flatMap { sight(of: path, look, $0) }
        if !steps.isEmpty { return steps }
        let below = engine.sourceViews.filter(\.isListed).compactMap { view -> Explanation? in
            guard case .path(let trigger) = view.definition.trigger,
                let root = trigger.paths.first(where: { $0.isAtOrBelow(path) || path == [UInt8(ascii: "/")] })
            else { return nil }
            let section = view.id.description
            return Explanation(code: .unseen, sentence: "\(section) sees only \(root.printable)", section: section)
        }
        return below.isEmpty
            ? [Explanation(code: .unseen, sentence: "no Path= is this path or a folder above it")] : below
    }

    private func sight(of path: [UInt8], _ look: PathLookBeside, _ view: SourceView) -> [Explanation] {
        guard case .path(let trigger) = view.definition.trigger else { return [] }
        let section = view.id.description
        if let condition = trigger.levels?.conditions.first(where: { $0.isAbout(path) }) {
            if case .notEmpty(let folder) = condition, path != folder,
                PathLevels.isHiddenOrBackup(path.split(separator: UInt8(ascii: "/")).last.map(Array.init) ?? [])
            {
                let sentence = "\(section): \(condition.assignment) does not count hidden files and backups"
                return [Explanation(code: .excluded, sentence: sentence, section: section)]
            }
            let handlers = view.definition.routes.map(\.handler).joined(separator: ", ")
            let sentence = "\(section): \(condition.assignment) is about it: while it holds, it starts \(handlers)"
            return [Explanation(code: .seen, sentence: sentence, section: section)] + standing(of: view)
        }
        guard let sight = trigger.sight(of: path, isFolder: look.isFolder) else { return [] }
        let (code, why) = verdict(sight, of: path, look, view, trigger)
        let step = Explanation(code: code, sentence: "\(section): \(why)", section: section)
        guard code == .seen else { return [step] }
        // How it stands is of interest only where something would be told.
        return [step] + standing(of: view)
    }

    private func verdict(
        _ sight: PathSight, of path: [UInt8], _ look: PathLookBeside, _ view: SourceView, _ trigger: PathTrigger
    ) -> (ReasonCode, String) {
        switch sight {
        case .seen(let root) where ignored(path, root, view.id) != nil:
            (.ignored, ignored(path, root, view.id) ?? "")
        case .seen(let root), .folder(let root):
            if let obstacle = obstacle(look, path, below: root, trigger) {
                (.unseen, "\(trigger.assignment(of: root)) does not see it: \(obstacle)")
            } else if case .folder = sight {
                (
                    .excluded,
                    "\(trigger.assignment(of: root)) does not tell of it: a folder is never written, and Events= "
                        + "asks for nothing else"
                )
            } else {
                (.seen, "\(trigger.assignment(of: root)) sees it: \(purpose(view, trigger, path, root, look))")
            }
        case .root(let root):
            (.excluded, "\(trigger.assignment(of: root)) tells of what is in it, not of the folder itself")
        case .tooDeep(let root):
            (.notRecursive, "\(trigger.assignment(of: root)) without Recursive=yes sees only what is directly in it")
        case .unmatched(let root):
            (.excluded, "\(trigger.assignment(of: root)) does not match it")
        case .pruned(let folder, let root):
            (.pruned, "\(trigger.assignment(of: root)) does not see it: Prune= leaves out \(folder.printable)")
        case .excluded(let glob, let root):
            (.excluded, "\(trigger.assignment(of: root)) does not tell of it: Exclude=\(glob)")
        case .notIncluded(let root):
            (.excluded, "\(trigger.assignment(of: root)) does not tell of it: no Include= matches it")
        }
    }

    /// A symbolic link on the way to it that is not followed (the path of the source itself may be one), or a mount.
    private func obstacle(
        _ look: PathLookBeside, _ path: [UInt8], below root: [UInt8], _ trigger: PathTrigger
    ) -> String? {
        if look.isMountedFile, path != root { return "a file that is mounted is watched where Path= names it" }
        guard !trigger.followsLinks else {
            return look.refusedLinks[root].map { "\($0.path.printable) is not followed, as \($0.reason)" }
        }
        let link = look.links.first { $0 != root && $0.isAtOrBelow(root) }
        return link.map { "without FollowSymlinks=yes \($0.printable) is not followed" }
    }

    private func standing(of view: SourceView) -> [Explanation] { suspended(view.id) + [standing(view)] }

    /// The line of an ignore file that keeps it back: a sentence.
    private func ignored(_ path: [UInt8], _ root: [UInt8], _ id: SourceID) -> String? {
        guard let ignored = sources?.ignored(path, below: root, by: id) else { return nil }
        let pattern = "line \(ignored.pattern.line) of \(ignored.file.printable), \(ignored.pattern.text.printable)"
        return ignored.path == path
            ? "Path=\(root.printable) does not tell of it: IgnoreFile=, \(pattern)"
            : "Path=\(root.printable) does not see it: IgnoreFile= leaves out \(ignored.path.printable), \(pattern)"
    }

    /// The changes that start something, and what.
    private func purpose(
        _ view: SourceView, _ trigger: PathTrigger, _ path: [UInt8], _ root: [UInt8], _ look: PathLookBeside
    ) -> String {
        var told = trigger.events(of: root)
        if look.isFolder, trigger.isTree(root) { told.formIntersection(.ofFolders) }
        let events = PathChange.allCases.filter { told.contains(PathEvents($0)) }.map(\.rawValue)
        let verb = events.count == 1 ? "starts" : "start"
        let handlers = view.definition.routes.map(\.handler).joined(separator: ", ")
        let polled = trigger.polling.isAlways ? "compared every \(trigger.polling.interval.brief)" : nil
        // How the source stands is said after it.
        let limit = (polled ?? sources?.limit(at: path, below: root, of: view.id))
            .flatMap { $0 == stands[view.id].limit?.value.text ? nil : "; \($0)" }
        return "\(events.joined(separator: ", ")) \(verb) \(handlers)\(limit ?? "")"
    }
}
