import Schedule

/// Checks of time: timers, silence, windows of the calendar.
extension Checker {
    mutating func timer(_ section: Section, _ entries: Entries) -> Trigger? {
        let keys = ["OnCalendar", "OnCron", "EverySec", "AfterSec", "OnStartupSec", "OnBootSec"]
        guard entries.first(of: keys) != nil else {
            let all = keys.dropLast().map { "\($0)=" }.joined(separator: ", ") + " or OnBootSec="
            problems.error("\(section.title) never fires: it needs \(all)", at: section.header)
            return nil
        }
        var timer = TimerTrigger(
            every: entries["EverySec"]?.span, after: entries["AfterSec"]?.span,
            onStartup: entries["OnStartupSec"]?.span, onBoot: entries["OnBootSec"]?.span)
        for entry in entries.list("OnCalendar") {
            if let calendar = entry.value?.calendar { add(calendar, of: entry, to: &timer) }
        }
        for entry in entries.list("OnCron") {
            if let cron = entry.value?.cron { add(cron, of: entry, to: &timer) }
        }
        timer.accuracy = max(entries["AccuracySec"]?.span ?? timer.accuracy, TimerTrigger.finestAccuracy)
        timer.randomizedDelay = entries["RandomizedDelaySec"]?.span ?? timer.randomizedDelay
        timer.hasFixedRandomDelay = entries["FixedRandomDelay"]?.flag ?? timer.hasFixedRandomDelay
        timer.catchUp = entries["CatchUp"]?.word.flatMap(CatchUp.init) ?? timer.catchUp
        timer.catchUpLimit = entries["CatchUpMaxSec"]?.span ?? timer.catchUpLimit
        timer.daylightSaving = entries["DaylightSaving"]?.word.flatMap(DaylightSaving.init) ?? timer.daylightSaving
        return .timer(timer)
    }

    private mutating func add(_ calendar: CalendarExpression, of entry: Entry, to timer: inout TimerTrigger) {
        warnIfItNeverElapses(calendar, entry)
        if !timer.calendars.contains(calendar) { timer.calendars.append(calendar) }
    }

    private mutating func add(_ cron: CronExpression, of entry: Entry, to timer: inout TimerTrigger) {
        warnIfItNeverElapses(cron, entry)
        if !timer.crons.contains(cron) { timer.crons.append(cron) }
    }

    private mutating func warnIfItNeverElapses(_ schedule: some CalendarSchedule, _ entry: Entry) {
        let sentence = "\(entry.key.name)=\(entry.text.shown) never elapses"
        guard schedule.nextElapse(after: -1, in: .utc, daylightSaving: .run) != nil else {
            return problems.warning("\(sentence): there is no such date", at: entry.text)
        }
        // One that is open now began before.
        guard let now = context.now, now >= Self.earliestNow else { return }
        let base = now - Int64(clamping: entry.value?.window?.span.microseconds ?? 0)
        guard schedule.nextElapse(after: base, in: context.rules(for: schedule), daylightSaving: .run) == nil else {
            return
        }
        problems.warning("\(sentence) again: its last date is past", at: entry.text)
    }

    /// 2020-01-01: a clock that shows less has not been set.
    private static let earliestNow: Int64 = 1_577_836_800_000_000

    // MARK: Silence

    mutating func checkSilence() {
        for source in sources {
            let span = source.entries.entry("SilenceSec")
            let told = source.entries.first(of: SourceDraft.silenceKeys)
            if let span, told == nil {
                problems.error("SilenceSec= tells nobody: it needs OnSilence= or OnSound=", at: span.keyText)
            } else if let told, span == nil {
                problems.error("\(told.key.name)= needs SilenceSec=: how long is silence?", at: told.keyText)
            }
        }
    }

    // MARK: Windows

    mutating func checkWindows() {
        for entry in (sections + defaults.values.sorted { $0.kind.prefix < $1.kind.prefix }).flatMap(\.entries) {
            if let window = entry.value?.window { warnIfItNeverElapses(window.calendar, entry) }
        }
        var patience = EndlessWindows.patience
        for section in sections {
            for name in ["NotDuring", "HoldDuring"] { warnIfItIsEndless(name, section, &patience) }
        }
    }

    private mutating func warnIfItIsEndless(_ name: String, _ section: Section, _ patience: inout Int) {
        let entries = section.entries.filter { $0.key.name == name && $0.value?.window != nil }
        guard let now = context.now, let last = entries.last else { return }
        let windows = entries.compactMap { $0.value?.window }
        guard EndlessWindows.areEndless(windows, at: now, context, &patience) else { return }
        let what = name == "NotDuring" ? "all that comes is skipped" : "all that comes waits for ever"
        let which = windows.count == 1 ? "\(name)=\(last.text.shown) is" : "the windows of \(name)= together are"
        problems.warning("\(which) never over: \(what)", at: last.text)
    }

    /// The local zone, and every zone that is named.
    var zones: ZoneTable {
        let calendars =
            sources.flatMap { source -> [CalendarExpression] in
                if case .timer(let timer)? = source.trigger { timer.calendars } else { [] }
            }
            + (sources.map(\.entries) + handlers.map(\.entries)).flatMap { entries in
                (entries.windows.notDuring + entries.windows.holdDuring).map(\.calendar)
            }
        var table = ZoneTable(local: context.localZone)
        for name in calendars.compactMap(\.zoneName) where table.named[name] == nil {
            table.named[name] = context.zone(name)
        }
        return table
    }
}

extension Entries {
    var windows: CalendarWindows {
        CalendarWindows(
            notDuring: list("NotDuring").compactMap { $0.value?.window }.withoutRepeats,
            holdDuring: list("HoldDuring").compactMap { $0.value?.window }.withoutRepeats,
            holdUntil: list("HoldUntil").flatMap { $0.value?.holdConditions ?? [] }.withoutRepeats)
    }
}

extension SourceDraft {
    /// The keys with the handlers of silence.
    static let silenceKeys = ["OnSilence", "OnSound"]

    var silenceNames: [Value.Name] { Self.silenceKeys.flatMap { entries.names($0).map(\.name) } }

    var silence: SilenceRule? {
        entries["SilenceSec"]?.span.map { span in
            SilenceRule(
                span: span, onSilence: entries.names("OnSilence").map(\.name.string).withoutRepeats,
                onSound: entries.names("OnSound").map(\.name.string).withoutRepeats)
        }
    }
}
