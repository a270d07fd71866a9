/// A geographical position in degrees.
public struct GeoPoint: Hashable, Sendable {
    /// -90...90
    public var latitude: Double
    /// -180...180
    public var longitude: Double

    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Whether both coordinates are within their ranges. The store refuses other values.
    public var isValid: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }
}
