/// A function's region, which is a part of its URL. Any string is allowed; known regions have names.
public struct Region: RawRepresentable, ExpressibleByStringLiteral, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    public static let asiaEast1: Region = "asia-east1"
    public static let asiaEast2: Region = "asia-east2"
    public static let asiaNortheast1: Region = "asia-northeast1"
    public static let asiaNortheast2: Region = "asia-northeast2"
    public static let asiaNortheast3: Region = "asia-northeast3"
    public static let asiaSouth1: Region = "asia-south1"
    public static let asiaSoutheast1: Region = "asia-southeast1"
    public static let asiaSoutheast2: Region = "asia-southeast2"
    public static let australiaSoutheast1: Region = "australia-southeast1"
    public static let europeCentral2: Region = "europe-central2"
    public static let europeNorth1: Region = "europe-north1"
    public static let europeWest1: Region = "europe-west1"
    public static let europeWest2: Region = "europe-west2"
    public static let europeWest3: Region = "europe-west3"
    public static let europeWest6: Region = "europe-west6"
    public static let northamericaNortheast1: Region = "northamerica-northeast1"
    public static let southamericaEast1: Region = "southamerica-east1"
    public static let usCentral1: Region = "us-central1"
    public static let usEast1: Region = "us-east1"
    public static let usEast4: Region = "us-east4"
    public static let usWest1: Region = "us-west1"
    public static let usWest2: Region = "us-west2"
    public static let usWest3: Region = "us-west3"
    public static let usWest4: Region = "us-west4"
}

/// An amount of memory. A function has 128, 256 or 512 MiB, or 1, 2, 4, 8, 16 or 32 GiB.
public struct Memory: Hashable, Sendable {
    public let mebibytes: Int

    public static func mib(_ count: Int) -> Memory { Memory(mebibytes: count) }
    public static func gib(_ count: Int) -> Memory { Memory(mebibytes: count * 1024) }

    public static let mib128 = Memory.mib(128)
    public static let mib256 = Memory.mib(256)
    public static let mib512 = Memory.mib(512)
    public static let gib1 = Memory.gib(1)
    public static let gib2 = Memory.gib(2)
    public static let gib4 = Memory.gib(4)
    public static let gib8 = Memory.gib(8)
    public static let gib16 = Memory.gib(16)
    public static let gib32 = Memory.gib(32)
}

/// The networks from which a function can be reached.
public enum Ingress: String, Hashable, Sendable {
    case all = "ALLOW_ALL"
    case internalOnly = "ALLOW_INTERNAL_ONLY"
    case internalAndLoadBalancer = "ALLOW_INTERNAL_AND_GCLB"
}
