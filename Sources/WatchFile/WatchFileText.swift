package import Schedule

/// The text of one watch file or drop-in; who reads the files decides about their order.
package struct WatchFileText: Equatable, Sendable {
    /// The file's name, as diagnostics show it.
    package var file: String
    package var bytes: [UInt8]
    /// For a drop-in: the `file` that it extends.
    package var dropInOf: String?

    package init(file: String, bytes: [UInt8], dropInOf: String? = nil) {
        self.file = file
        self.bytes = bytes
        self.dropInOf = dropInOf
    }
}

/// The facts outside of the files that defaults depend on.
package struct LoadContext: Sendable {
    /// CPUs that the daemon may use; at least 1.
    package var processors: Int

    /// The zone of expressions that name none.
    package var localZone: TimeZoneRules
    /// The rules of a zone of the time-zone database; `nil`: there is none of that name, or none that can be read.
    package var zone: @Sendable (String) -> TimeZoneRules?
    /// Wall-clock microseconds: what is past by then is warned of. `nil`: not known.
    package var now: Int64?
    /// Whether there is a user, a group of this name; asked of `User=`, `Group=` and `SupplementaryGroups=`, and of
    /// `SocketUser=` and `SocketGroup=`, to warn. `nil`: not known.
    package var isUser: (@Sendable (String) -> Bool)?
    package var isGroup: (@Sendable (String) -> Bool)?
    /// The names of users and groups that the machine knows itself, for suggestions.
    package var userNames: (@Sendable () -> [String])?
    package var groupNames: (@Sendable () -> [String])?
    /// Whether `User=` and the like of a user or group that there is not are errors; else warnings.
    package var refusesUnknownAccounts = true
    /// Why a program, a path or a name for `PATH`, cannot be run, as a phrase; `nil`: it can. Asked to warn. The closure
    /// is `nil`: not known.
    package var programFlaw: (@Sendable ([UInt8]) -> String?)?
    /// Of a folder without files of its own: those of its folders that have files, by their names. Asked of `Path=`, to
    /// warn. `nil`: not known.
    package var filledSubfolders: (@Sendable ([UInt8]) -> [String])?

    /// Whether nothing stands at a path. `nil`: nobody looks.
    package var isMissing: (@Sendable ([UInt8]) -> Bool)?

    /// Whether no systemd manages this machine. `nil`: nobody looks.
    package var lacksServiceManager: (@Sendable () -> Bool)?

    package init(
        processors: Int, localZone: TimeZoneRules = .utc, now: Int64? = nil,
        zone: @escaping @Sendable (String) -> TimeZoneRules? = { _ in nil }
    ) {
        self.processors = max(1, processors)
        self.localZone = localZone
        self.now = now
        self.zone = zone
    }

    func rules(for schedule: some CalendarSchedule) -> TimeZoneRules {
        (schedule as? CalendarExpression)?.zoneName.flatMap(zone) ?? localZone
    }

    var zoneNames: CalendarExpression.ZoneNames {
        CalendarExpression.ZoneNames(local: localZone) { [zone] in zone($0) != nil }
    }

    /// The default of `MaxProcesses=`.
    var maxProcesses: Int { max(16, 4 * processors) }
}

package struct LoadResult: Sendable {
    /// `nil` when one of the diagnostics is an error.
    package var configuration: Configuration?
    /// In the order of the texts and of their lines.
    package var diagnostics: [Diagnostic]
    /// `StateDirectory=`, also of files with errors, where it can be read.
    package var stateDirectory: [UInt8]?

    package init(configuration: Configuration?, diagnostics: [Diagnostic], stateDirectory: [UInt8]? = nil) {
        self.configuration = configuration
        self.diagnostics = diagnostics
        self.stateDirectory = stateDirectory
    }
}
