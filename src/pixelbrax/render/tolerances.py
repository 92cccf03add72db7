"""Every threshold of the renderer, by its meaning. Lengths are in meters."""

# Directions. A vector shorter than this has no direction.
MIN_LENGTH = 1e-9
# A camera's line of sight is parallel to `up` below this sine of the angle between them.
MIN_SINE_TO_UP = 1e-6
# A camera's matrix may be this far from a rotation, since it is in float32 or typed by hand.
ROTATION_ERROR = 1e-3

# Ray casting.
# How far behind the camera a geom is that it shall not see; its square and that one's are float32 numbers.
FAR_BEHIND = 1e6
# A camera this near to a geom's surface is inside, as one that a model puts exactly there; and in shares of its size.
ON_SURFACE, ON_SURFACE_ROUNDING = 1e-4, 2e-6
# A ray is parallel to the axis of a capsule or cylinder below this squared sine of the angle between them.
MIN_SQUARED_SINE = 1e-7
# An ellipsoid's half-axes are at least this: the ray is divided by them.
MIN_HALF_AXIS = 1e-6
# The slope of a surface along a ray that the Newton step divides by.
MIN_SLOPE = 1e-6
# Squared lengths of gradients, before normalization.
MIN_SQUARED_GRADIENT = 1e-30

# Squared length, across a capsule's or cylinder's axis, of a position and, for shadows, of the vector to the light.
MIN_SQUARED_ACROSS = 1e-12
# A triangle shades what is farther behind it than this.
SHADOW_BIAS = 1e-3

# Light.
MIN_SQUARED_DISTANCE = 1e-12
MIN_SQUARED_HALF_VECTOR = 1e-12
# Cosines that are raised to a non-integer power.
MIN_COSINE = 1e-6
# Smallest exponent of e; the result is still a normal float32, and subnormal numbers are slow.
MIN_LOG = -80.0
# Powers of ten that stay normal float32 numbers.
MIN_LOG10 = -36.0

# The sky: 1 less the sine of the elevation, of which the root has a derivative.
MIN_FROM_ZENITH = 1e-12

# Textures.
# Sizes of geoms and lengths on surfaces that texture coordinates are divided by.
MIN_TEXTURED_SIZE = 1e-6
# The camera's distance from a plane with a checkerboard.
MIN_PLANE_DISTANCE = 1e-9
# Width of a pixel in a checkerboard's cells, over which the cells are averaged.
MIN_CHECKER_WIDTH = 1e-4
# Cosine between a ray and a surface's normal: at more grazing angles a pixel's footprint stops growing.
MIN_FOOTPRINT_COSINE = 0.1
# Squared distance from the poles of a unit sphere, where circles of latitude shrink to a point.
MIN_SQUARED_LATITUDE = 1e-4
# A point of a unit cylinder this close to an end is on that end.
CYLINDER_END = 1e-5
# A ray's component towards a sky's plane, of a direction whose component along the camera's line of sight is 1.
MIN_SKY_DISTANCE = 1e-3
# Largest component of a direction that is looked up in a cube texture.
MIN_CUBE_COMPONENT = 1e-12

# Tendons.
# A string is at least this share longer than a straight one.
MIN_SLACK = 1e-6

# Geoms that are not there.
# Their size. Not 0, of which surfaces have no normals.
NO_SIZE = 1e-7

# Soft silhouettes.
# Within this share of the squared radius from the silhouette, normals are kept from turning edge-on, where their
# derivatives grow without bound.
SOFT_RIM = 1e-3
# Slopes and sums of weights that soft images divide by.
MIN_SOFT = 1e-9
