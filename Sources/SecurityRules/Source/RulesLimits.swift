/// Bounds on rules files and decisions. The public reference of Firestore's rules names those that come first, up to documents.
enum RulesLimits {
    static let sourceBytes = 262_144
    static let compiledBytes = 256_000
    /// `match` blocks within the outermost ones, as the emulator counts.
    static let matchDepth = 10
    /// Segments of nested `match` paths together.
    static let pathSegments = 100
    /// Names captured by nested `match` paths together.
    static let captures = 20
    static let callDepth = 20
    static let arguments = 7
    static let letBindings = 10
    /// Expressions that a decision evaluates.
    static let expressions = 1000
    /// Documents that `get`, `exists` and the like read for one request, besides those that it writes.
    static let documents = 10
    /// Documents that they read for all operations of a batch, a transaction or a read of several documents.
    static let documentsOfBatch = 20

    /// Elements and members, at all depths, of a list or map that an expression makes, and segments of such a path.
    static let madeValues = 10_000
    /// Bytes of a text or path that an expression makes.
    static let madeText = 2_097_152
    /// What comparing, searching and matching may cost in one decision: some tenths of a second.
    static let work = 5_000_000
    /// Steps of all regular expressions of a file.
    static let patternSteps = 100_000

    /// Parentheses, operators and calls within each other, as many as the emulator takes.
    static let nesting = 98
    /// Ways in which the blocks of a file may fit one path; several `**` within each other can fit in many.
    static let matches = 2000

    /// Nodes of a Realtime Database's rules within each other, and segments of a path.
    static let databaseDepth = 32
    /// UTF-8 bytes of a key of the Realtime Database.
    static let databaseKeyBytes = 768
    /// What reading a node of the Realtime Database costs, in units of `work`: about 1 µs.
    static let databaseNodeCost = 20
}
