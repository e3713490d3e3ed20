package import Engine
package import EventSources
import WatchFile

/// The environment that runs share.
package struct RunEnvironment {
    package let core: Context
    /// For work that may take long, but for spawning.
    package let slow: Lanes
    package let epoll: EpollSet
    let groups: GroupMembers
    /// Where runs have a cgroup each, or why not.
    let containment: Containment
    /// Where runs have their credentials.
    let credentials: CredentialFolders
    /// Where processes are spawned.
    package let lanes: Lanes
    package let logger: Logger
    /// The daemon's own, which Dispatch changes on its threads (Dispatch.md, fact 17).
    package let nice: Int32
    /// `WATCHD_INSTANCE` of the processes from now on: by it they are found again. `none`: they need not be.
    package var instance: () -> InstanceName
    /// A descriptor is to be put into the service manager's store under this name. It stays the run's: to be duplicated
    /// before this returns.
    package let keep: (KeptDescriptor, Int32) -> Void
    /// The descriptor kept under this name is not wanted any more.
    package let forget: (KeptDescriptor) -> Void
    /// Where the service manager is spoken to.
    let units: UnitHub
    /// What services of runs write.
    let outputs: ServiceOutputs
    /// Descriptors that events hand over.
    package let handovers: Handovers
    /// A run has written these lines.
    let wrote: (RunID, [LineFramer.Line]) -> Void
    var send: (Input) -> Void

    package init(
        core: Context, slow: Lanes, epoll: EpollSet, lanes: Lanes, logger: Logger, nice: Int32,
        containment: Containment = Containment(reason: "nobody has looked"),
        credentials: CredentialFolders = CredentialFolders(), instance: @escaping () -> InstanceName = { .none },
        keep: @escaping (KeptDescriptor, Int32) -> Void = { _, _ in },
        forget: @escaping (KeptDescriptor) -> Void = { _ in }, handovers: Handovers = Handovers(),
        units: UnitHub? = nil,
        wrote: @escaping (RunID, [LineFramer.Line]) -> Void = { _, _ in }, send: @escaping (Input) -> Void
    ) {
        self.core = core
        self.slow = slow
        self.epoll = epoll
        groups = GroupMembers(core: core, slow: slow)
        self.lanes = lanes
        (self.containment, self.credentials) = (containment, credentials)
        self.logger = logger
        self.nice = nice
        self.instance = instance
        self.keep = keep
        self.forget = forget
        self.handovers = handovers
        self.units = units ?? UnitHub(core: core, epoll: epoll, scope: UnitHub.ownScope)
        outputs = ServiceOutputs(core: core, epoll: epoll, scope: self.units.scope)
        self.wrote = wrote
        self.send = send
    }
}

extension RunEnvironment {
    /// A run has ended: its credentials go before anybody is told.
    func forgetCredentials(of run: RunID, _ definition: HandlerDefinition) {
        guard !definition.contract.serviceCredentials.isEmpty, !credentials.remove(run) else { return }
        logger.log(
            .warning, "\(run.name(of: definition)): what it has put into its folder of credentials is left there",
            run.logFields(of: definition))
    }
}
