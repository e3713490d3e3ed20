import Schedule
import WatchFile

/// `NotDuring=`, `HoldDuring=`: windows of the calendar in which what comes is skipped, or waits.
extension Engine {
    /// A window that is open, and until when: wall clock, microseconds.
    struct OpenWindow {
        var window: CalendarWindow
        var until: Int64
        /// Another one follows then without a gap, and so on for as long as was looked.
        var hasMore = false
    }

    /// More windows than this are not looked through one after the other: who waits looks again then.
    private static let mostWindows = 1000
    /// Microseconds: longer than a year and all its exceptions. What is not over then is not over ever.
    private static let horizon: Int64 = 400 * 86_400_000_000

    /// Why a delivery that comes now is skipped.
    func skippingWindow(source: Int, handler: Int) -> String? {
        var windows = handlers[handler].definition.value.windows.notDuring
        if sources[source].hasWindows { windows += sources[source].definition?.value.windows.notDuring ?? [] }
        guard let open = open(windows, at: now.realtime) else { return nil }
        return "NotDuring=\(sentence(followed(open, by: windows)))"
    }

    /// `02:00 for 3h, 40min more`.
    func sentence(_ open: OpenWindow) -> String {
        let left = open.until - now.realtime
        let end =
            !open.hasMore
            ? "\(span(left)) more" : left < Self.horizon ? "at least \(span(left)) more" : "which never ends"
        return "\(open.window), \(end)"
    }

    /// The window that holds what comes now, if there is one; `until` is the end of all that follow without a gap.
    func holdingWindow(source: Int, handler: Int) -> OpenWindow? {
        var windows = handlers[handler].definition.value.windows.holdDuring
        if sources[source].hasWindows { windows += sources[source].definition?.value.windows.holdDuring ?? [] }
        guard !windows.isEmpty, let open = open(windows, at: now.realtime) else { return nil }
        return followed(open, by: windows)
    }

    func holdingWindow(_ ref: OperationRef) -> OpenWindow? {
        holdingWindow(source: operations[ref].source, handler: operations[ref].handler)
    }

    /// True: it waits until a window is over.
    mutating func waitsForWindow(_ ref: OperationRef) -> Bool {
        guard let open = holdingWindow(ref) else {
            if !windowHolds.isEmpty { windowHolds[ref.id] = nil }
            return false
        }
        if windowHolds[ref.id] != open.until {
            windowHolds[ref.id] = open.until
            deadlines.add(.submission(ref), .realtime, at: open.until)
        }
        return true
    }

    /// The clock or the zones have changed.
    mutating func windowsMayHaveMoved() {
        for id in windowHolds.keys.sorted() {
            if let ref = operations.ref(id: id) { submitIfFree(ref) } else { windowHolds[id] = nil }
        }
    }

    /// The one that is open at an instant; of several the one that ends last.
    private func open(_ windows: [CalendarWindow], at instant: Int64) -> OpenWindow? {
        var found: OpenWindow?
        for window in windows {
            guard let end = window.end(at: instant, in: zones.rules(for: window.calendar)),
                end > found?.until ?? .min
            else { continue }
            found = OpenWindow(window: window, until: end)
        }
        return found
    }

    /// Windows may overlap, or follow each other without a gap: until the end of the last one.
    private func followed(_ first: OpenWindow, by windows: [CalendarWindow]) -> OpenWindow {
        var last = first
        for _ in 0..<Self.mostWindows where last.until - now.realtime < Self.horizon {
            guard let next = open(windows, at: last.until) else { return last }
            last.until = next.until
        }
        last.hasMore = true
        return last
    }
}
